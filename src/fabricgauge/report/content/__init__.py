"""One module per kind of report: what is said, in which order; no module knows a format."""
