"""Start other programs; nothing else does. Argv lists go in, output comes out, no shell is used.

Every child gets its own session, so that it can be ended with all its descendants.
A launch also carries an environment marker, so that a descendant which left the session,
or outlived this program, can be found.
"""

from fabricgauge.nodes.process.children import MARKER, ChildGroup, end_marked, run_in_foreground
from fabricgauge.nodes.process.run import Completed, run
from fabricgauge.nodes.process.stream import ProgramStream

__all__ = [
    "MARKER",
    "ChildGroup",
    "Completed",
    "ProgramStream",
    "end_marked",
    "run",
    "run_in_foreground",
]
