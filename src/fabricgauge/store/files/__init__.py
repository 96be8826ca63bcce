"""Read and write files that others may have made, named or linked; nothing else opens them.

``ownership`` checks whose a file is and who may change it. ``reading`` opens regular files and
follows no link out of a folder. ``writing`` writes through no link and removes
folders. ``places`` has the folders of a user's own files.
"""
