"""All pairs of a fabric: matrices of one quantity, and who is at fault. Pure."""
