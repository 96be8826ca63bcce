"""Live machines → Fabric: each node describes itself, and subnets join the nodes."""
