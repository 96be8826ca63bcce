"""Job scripts: what a batch system runs without us, with a shell and the engine alone."""
