"""The connections that nodes make to each other before the measurement."""

from typing import Literal

import msgspec

#: ``no answer``: no connection in time. ``refused``: no program listened. ``error``: the kernel
#: reported an error, e.g. "No route to host". ``other node``: another node, or another program,
#: answered. ``no data``: connected, but no bytes arrived.
How = Literal["no answer", "refused", "error", "other node", "no data"]


class FailedConnection(msgspec.Struct, frozen=True):
    """A connection from ``source`` to ``target`` that carried nothing.

    ``said`` is the kernel's error, if any. ``answered_by`` is the node that answered instead of the
    target, if any.
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

    ``tried`` is, by node, the number of other nodes that it was paired with, in both directions.
    ``silent`` are nodes that could not take part, with the reason: their connections are unknown.
    ``start_s`` is each node's time from the command until its program listened, if known; no
    connection is tried before.
    """

    network: str
    tried: dict[str, int]
    failures: tuple[FailedConnection, ...]
    silent: dict[str, str] = {}
    start_s: dict[str, float] = {}
