"""Answers of the nodes → findings with evidence and a remedy. ``checks/`` is pure.

Comes in: the nodes' answers (``survey.py`` asks them or reads a bundle) and what nodes can do to
each other (``doctor.py``). Goes out: a ``Diagnosis`` (``model/finding.py``).

A check is a value ``Check`` in the module of its subject in ``checks/``, and one row in
``checks/__init__.py``. ``examining.py`` applies all; ``reachability.py`` names who cannot be
reached.
"""
