"""Check one node passively, in the form that a scheduler or a monitor reads.

Facts of nodes go in (``learn``), a file of expectations comes out (``expectations``), and from it
one POSIX script (``script``, ``health.sh``), which does the whole check on a node. ``checks`` has
the table of what is checked, how severe it is, and the limits of the counters with their origins.
"""
