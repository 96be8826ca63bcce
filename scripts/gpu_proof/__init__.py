"""The proof on a GPU: parts to carry, steps to run, one report."""
