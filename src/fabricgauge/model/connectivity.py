"""What became of the connections that nodes made to each other before anything was measured."""

from typing import Literal

import msgspec

#: ``no answer``: no connection in time. ``refused``: nothing listened. ``error``: the kernel said
#: no, e.g. "No route to host". ``other node``: another node, or another program, answered.
#: ``no data``: connected, and then bytes did not arrive.
How = Literal["no answer", "refused", "error", "other node", "no data"]


class FailedConnection(msgspec.Struct, frozen=True):
    """A connection from ``source`` to ``target`` that carried nothing.

    ``said`` is the kernel's error, if there was one. ``answered_by`` is the node that answered
    for the target, if another one did.
    """

    source: str
    target: str
    source_ip: str
    target_ip: str
    how: How
    said: str = ""
    answered_by: str = ""


class Connectivity(msgspec.Struct, frozen=True):
    """One round over one network.

    ``tried`` is how many other nodes each node was paired with, both ways. ``silent`` are nodes
    whose part could not be played, with the reason: nothing is known of their connections.
    ``start_s`` is how long each node's program took from its command until it listened, as far as
    that is known; no connection is tried before.
    """

    network: str
    tried: dict[str, int]
    failures: tuple[FailedConnection, ...]
    silent: dict[str, str] = {}
    start_s: dict[str, float] = {}
