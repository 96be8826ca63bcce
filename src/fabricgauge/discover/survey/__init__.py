"""Everything that a node says of itself → ``Inventory``: sections, parsers, merging; pure."""
