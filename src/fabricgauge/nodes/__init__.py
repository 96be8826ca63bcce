"""Reach nodes, look at them, and start things on them. The only room that runs programs on nodes.

Comes in: hosts (``model/host_access.py``) and argv lists. Goes out: what they answered, raw and
as values (``model/fabric.py``, ``model/inventory.py``).

``launch/`` has launchers (ssh, Slurm, local), the command line of each MPI and the environment of
a launch. ``discover/`` feeds shell probes to nodes and parses what they print. ``connectivity.py``
lets each node connect to each other. ``engines/`` finds MPIs, builds the engine against them and
keeps it. ``process.py`` is the only door to other programs: argv lists, time limits, and it ends
what it started.
"""
