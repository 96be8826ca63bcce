"""Printouts of tools → Parts: one module for each tool, which ``table`` finds by a name; pure.

Every ``parse(text, argument)`` takes any text without raising: a line that is not understood
becomes a trouble or a ``Skipped``. ``argument`` is the text behind the tool's name, such as
``eth0`` or ``-i eth0``; most tools name their devices and need none. Strings stay as the tool
printed them: they are data from a node, to be shown with ``report/visible.py``.
"""
