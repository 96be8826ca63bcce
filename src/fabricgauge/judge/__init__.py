"""A run, its ceilings and thresholds → verdicts. Pure: no clock, no files, no programs.

Comes in: ``Context`` (``interface.py``): records, ceilings, evidence, the analysis of all pairs.
Goes out: ``Verdict`` (``model/verdict.py``), causes first.

``ceiling/`` computes what a network can carry at most. ``evidence/`` says what happened: what
interfaces carried, where ranks ran, what connections and processors did. ``stats/`` makes
estimates and curves of samples. ``localise/`` finds the slow part among many nodes: it suspects,
asks for another measurement, confirms. ``rules/`` has one module for each rule; ``judging.py``
applies them, ``consequences.py`` says which verdict follows from which, ``causes.py`` names
likely causes. ``thresholds.py`` and ``localise/limits.py`` hold every number that decides, with
its origin.
"""
