"""Copies between the GPUs of a node, measured by the vendors' own programs."""
