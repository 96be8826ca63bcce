"""features/vary."""
