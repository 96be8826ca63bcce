"""Values that rooms exchange, and the words for them. Everything here is data; nothing acts.

Lengths of data are bytes, times are seconds, link rates are bit/s and payload rates are bytes/s.
A field's name carries its unit. Absence is a value with its reason (``absence.py``). Structs are
frozen; those of a run's records are stored formats. ``words/`` has how things are called and
printed. ``features.py`` has one row for each feature.
"""
