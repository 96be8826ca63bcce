"""features/path."""
