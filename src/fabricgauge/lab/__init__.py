"""The virtual cluster on this machine: namespaces as nodes, links with set rates.

``up.py`` makes and removes a lab, ``state.py`` keeps what it made, ``faults.py`` breaks links and
nodes, ``host_access.py`` is how the main job reaches lab nodes. Virtual machines with software
RDMA and a lab's Slurm are features.
"""
