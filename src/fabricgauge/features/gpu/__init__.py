"""features/gpu."""
