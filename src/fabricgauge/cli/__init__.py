"""The command line: options become one typed request; the answer is printed.

Comes in: the words of a command line, the environment and configuration files
(``store/settings.py``). Goes out: one ``MeasurementRequest`` (``model/request.py``) for the main
job, and text in a format of ``report``; the exit status says PASS, FAIL or undecided
(``model/verdict.py``).

One module for each verb, loaded when it is used; ``overview.py`` is their table. Verbs of
features stand in the rows of ``model/features.py``. ``options.py`` has the options that verbs
share. Nothing here measures or judges. A new option: ``options.py``, the verb,
``MeasurementRequest``.
"""
