"""Preflight: what the nodes say of themselves and could do to each other → findings; pure."""
