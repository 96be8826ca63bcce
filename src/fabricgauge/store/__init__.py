"""Run directories, bundles and configuration files ↔ values.

``run_directory.py`` makes, finds and finishes directories; each record is on disk before the next
measurement starts. ``run_files.py`` reads them back. ``bundle.py`` does the same for what nodes
said, ``settings.py`` reads the site's configuration. ``files/`` is the only access to files that
others may have made: it looks who owns them, reads regular files only and writes through no link.
Nothing that a stored file names is ever run.
"""
