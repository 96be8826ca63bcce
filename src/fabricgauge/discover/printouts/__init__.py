"""What tools print → Parts: one module for each tool, ``table`` finds it by a name; pure.

Every ``parse(text, argument)`` takes any text without raising: what is not understood becomes
a trouble or a ``Skipped``. ``argument`` is what stood behind the tool's name, such as ``eth0``
or ``-i eth0``; most tools name all that they speak of and need none. Strings are handed on as
the tool printed them: they are data from a node, to be shown with ``report/visible.py``.
"""
