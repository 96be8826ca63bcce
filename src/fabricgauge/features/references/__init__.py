"""Show the published results that ship: their list, and each with its figures and caveats."""
