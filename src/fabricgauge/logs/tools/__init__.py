"""Find the programs of other suites and start them on nodes."""
