"""Inventories → classes of like nodes and who stands out; pure."""
