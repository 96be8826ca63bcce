"""Plan and set up the networks that a file describes: steps, scripts, undo."""
