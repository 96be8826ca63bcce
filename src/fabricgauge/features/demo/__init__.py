"""Show the gauge on a virtual network: a pass, a fault, the failure that names it."""
