"""Results of other suites: reading them, running the suites, and published figures.

Comes in: text of any suite, plain or packed (``read_files.py``). Goes out: curves
in SI units (``model/suite.py``) and every line that was not understood.

``readers/`` has one module for each suite, with its row in ``readers/dialects.py``; readers are
pure and never raise. ``tools/`` starts the suites' own programs. ``references/`` has published
results as data files. ``beside_logs.py`` reads what lies beside logs: dumps of NCCL, printouts of
drivers' tools.
"""
