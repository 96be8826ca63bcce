"""The main job: request → nodes → plan → launches → records → recheck → verdicts.

Comes in: a ``MeasurementRequest``. Goes out: ``Judged``, a frozen value, and a run directory that
holds all that was measured, even if the program is killed.

The way through the files: ``begin.py`` resolves the request (``target.py``: nodes and how to
reach them; ``networks.py``: what joins them; ``programs.py``: what measures), lets nodes connect
and asks ``plan/`` for a plan. ``main_job.py`` is the state machine: it
names the states of a run and measures what is left (``measure.py``; other suites:
``measure_tool.py``), finds the node at which launches break (``breakage.py``, ``groups.py``),
measures suspects again and ends. ``run_context.py`` has the only value that changes.
``conclude.py`` judges and writes the reports; ``kept_screen.py`` keeps what a terminal shows;
``import_logs.py`` makes a run of other suites' results.

``plan/`` is pure: networks and a profile give cases, launches and their time.
"""
