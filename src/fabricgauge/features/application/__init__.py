"""features/application."""
