"""A node's whole survey → ``Inventory``: sections, parsers, merging; pure."""
