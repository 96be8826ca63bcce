"""Build one kind of report per module: its content in order; no module knows a format."""
