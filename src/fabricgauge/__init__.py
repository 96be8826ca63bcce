"""A go/no-go gauge for cluster interconnects."""

__version__ = "0.2.0"
