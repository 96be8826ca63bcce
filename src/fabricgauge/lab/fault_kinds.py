"""The kinds of faults that a lab can have, one row each."""

import msgspec


class FaultKind(msgspec.Struct, frozen=True):
    """A kind of fault; ``value`` is the form of its value on the command line, empty for none.

    ``does`` is its effect for the list of kinds. ``wrong`` describes a fault: braces hold its
    fields, and its amount as ``rate`` or ``percent``. ``limits`` bound ``amount``, named ``what``.
    """

    value: str
    does: str
    wrong: str
    what: str = ""
    limits: tuple[float, float] = (0.0, 0.0)


KINDS: dict[str, FaultKind] = {
    "link-down": FaultKind(
        "", "pull the cable: the interface loses its carrier", "link of {where} is down"
    ),
    "link-up": FaultKind("", "put the cable back", ""),
    "rate": FaultKind(
        "RATE", "let the link carry only RATE, both ways; the node still shows the nominal rate",
        "link of {where} carries {rate}",
    ),
    "rate-in": FaultKind(
        "RATE", "the same, only towards the node", "link of {where} carries {rate} towards the node"
    ),
    "rate-out": FaultKind(
        "RATE", "the same, only from the node", "link of {where} carries {rate} from the node"
    ),
    "port-rate": FaultKind(
        "RATE", "let the node's port come up at RATE and show it",
        "port of {where} came up at {rate}",
    ),
    "mtu": FaultKind(
        "BYTES", "give the node's interface another MTU",
        "interface of {where} has MTU {amount:.0f}",
    ),
    "address": FaultKind(
        "IP/LEN", "give the interface another address: a duplicate, a wider netmask",
        "interface of {where} has address {text}",
    ),
    "hosts": FaultKind(
        "NAME=IP", "give NAME the address IP in the node's hosts file",
        "the hosts file of {where} has {text}",
    ),
    "loss": FaultKind(
        "PERCENT", "lose frames at random, in each direction",
        "link of {where} loses {percent:g} % of the frames", "the lost share", (1e-6, 1.0),
    ),
    # A frame every 10 s is no fault, and one process sends at most some thousands a second.
    "drops": FaultKind(
        "PER_S", "send the node PER_S frames per second that it must drop",
        "{where} receives {amount:g} stray frames per second", "the stray frames per second",
        (0.1, 10_000.0),
    ),
    "memlock": FaultKind(
        "BYTES", "limit the memory that programs on the node may lock; takes no NETWORK",
        "programs on {where} may lock {amount:,.0f} bytes of memory", "the memory limit",
        (1024, 2**60),
    ),
}  # fmt: skip

#: Kinds that concern the node and not its links.
ON_A_NODE = frozenset({"memlock"})
