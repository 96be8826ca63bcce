"""The only door to files that others may have made, named or linked.

``ownership`` says whose a file is and who may change it, ``seals`` what this user has written,
``reading`` opens regular files and follows no link out of what was named, ``writing`` writes
through no link at all, ``places`` knows where a user's own files are.
"""
