"""Preflight: the nodes' descriptions and trials → findings; pure."""
