"""Other suites' programs: where they are, how they are started on two nodes."""
