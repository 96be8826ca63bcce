"""Keep the history of a site's runs: series over time, alarms, change points, a site, a sweep.

Comes in: run directories as ``check``, ``submit`` and ``import`` leave them. They stay the truth.
Goes out: lists, series, alarms and pages. Nothing here measures or judges a run again.

    verb          options of each subcommand → one of the steps below
    reading       a run directory → ``StoredRun``: its settings, and panels of figures
    index         all ``StoredRun`` of a directory → one SQLite file that can be deleted
    series        the index → figures over time, by place, network, pattern and size
    drift         a series and its reference → an alarm, with a stated rate of false ones
    changes       a series → change points, with the settings that changed then
    baseline      the runs that a person pinned as the reference
    learning      figures of passed runs → thresholds, with their origin
    site          the index → pages that open from a file
    sweep         idle nodes and a budget → the pairs to measure this week

The statistics (``drift``, ``changes``) and the contents of reports are pure.
"""
