"""Read and write files that others may have made, named or linked; nothing else opens them.

``ownership`` finds a user's own folders, and checks whose a file is and who may change it.
``reading`` opens regular files and follows no link out of a folder. ``writing`` writes through no
link and removes folders.
"""
