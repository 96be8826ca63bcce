"""Job scripts, which a batch system runs with only a shell and the engine."""
