"""Live machines → Fabric: each node describes itself, the subnets join them."""
