"""A go/no-go gauge for cluster interconnects."""

__version__ = "0.1.0"
