"""The only door to files that others may have made, named or linked.

``ownership`` says what is provably this user's own, ``reading`` opens regular files and follows no
link out of what was named, ``writing`` writes through no link at all, ``places`` knows where a
user's own files are.
"""
