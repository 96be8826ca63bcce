"""A against B: what differs, how surely, and whether it is a regression.

Pure but for ``sides.py``. Comes in: two sides, each a run, a log of another suite or a published
result (``sides.py`` finds and reads them). Goes out: a ``Comparison`` (``model/comparison.py``)
with one verdict per curve.

``matching.py`` finds the curves that belong together, ``differences.py`` compares two curves with
the interval of their difference, ``comparing.py`` puts the verdicts together.
"""
