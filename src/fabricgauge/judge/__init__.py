"""From a run and its ceilings to verdicts; pure, one module per rule."""
