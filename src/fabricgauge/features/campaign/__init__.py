"""Run a named list of measurements, and show it as one page beside its document's figures.

A campaign is a file: parts in the order of a document, each with patterns, sizes, a suite's tests
or a sweep, and the published references that belong to it. ``campaign_file`` reads and checks it,
``running`` measures its parts, ``content`` is the page.
"""
