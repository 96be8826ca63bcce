"""From a description to a plan, and from a plan to what was done and undone."""
