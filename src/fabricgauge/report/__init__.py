"""A judged run, a comparison or a survey → one document → any format. Pure.

Comes in: a frozen value of ``model``. Goes out: text. ``content/`` has one module for each
subject; it makes a ``Document`` (``document.py``) and knows no format. ``render/`` writes any
document as terminal, HTML, Markdown, JUnit …; it knows no subject. ``formats.py`` is the table of
formats. A kind of report is a module with ``KIND`` (``interface.py``); a feature's kinds stand in
its row.
"""
