"""The faults that `fabricgauge lab fault` knows, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.lab.fault_kinds import Fault

#: kind: (what VALUE is, or nothing; what the fault does)
FAULTS = {
    "link-down": ("", "pull the cable: the interface loses its carrier"),
    "link-up": ("", "put the cable back"),
    "rate": ("RATE", "let the link carry only RATE, both ways; the node's settings stay nominal"),
    "rate-in": ("RATE", "the same, only towards the node"),
    "rate-out": ("RATE", "the same, only from the node"),
    "port-rate": ("RATE", "let the node's own port come up at RATE, and show it"),
    "mtu": ("BYTES", "give the node's interface another MTU"),
    "address": ("IP/LEN", "give the interface another address: a duplicate, a wider netmask"),
    "hosts": ("NAME=IP", "let node NAME's entry in the node's hosts file be IP"),
    "loss": ("PERCENT", "lose frames at random, in each direction"),
    "drops": ("PER_S", "send the node frames that it must drop, so many a second"),
    "memlock": ("BYTES", "limit what programs on the node may lock in memory; takes no NETWORK"),
}

#: Kinds that concern the node and none of its links.
ON_A_NODE = frozenset({"memlock"})


def parse_fault(kind: str, node: str, network: str, value: str | None) -> Fault:
    """The fault that the words describe; UsageError if VALUE is missing or too much."""
    from fabricgauge.lab import fault_kinds as kinds
    from fabricgauge.settings import rate_bit_s

    wanted = FAULTS[kind][0]
    if bool(wanted) != (value is not None):
        raise UsageError(
            f"lab fault {kind}: " + (f"needs {wanted}" if wanted else f"takes no value {value!r}")
        )
    if value is None:
        return kinds.LinkDown(node, network)
    if kind == "mtu":
        return kinds.MtuChange(node, network, whole_bytes(value, "lab fault mtu"))
    if kind == "memlock":
        return kinds.MemoryLock(node, whole_bytes(value, "lab fault memlock"))
    if kind == "address":
        return kinds.AddressChange(node, network, value)
    if kind == "hosts":
        return _hosts_entry(node, network, value)
    if kind == "loss":
        return kinds.Loss(node, network, _number(value.removesuffix("%"), kind) / 100)
    if kind == "drops":
        return kinds.StrayFrames(node, network, _number(value, kind))
    if kind == "port-rate":
        return kinds.PortRate(node, network, rate_bit_s(value))
    direction = {"rate": "both", "rate-in": "in", "rate-out": "out"}[kind]
    return kinds.RateLimit(node, network, rate_bit_s(value), direction)  # type: ignore[arg-type]


def whole_bytes(text: str, where: str) -> int:
    """A whole number of bytes; UsageError if it is not that."""
    if not text.isdecimal() or not text.isascii():
        raise UsageError(f"{where}: {text!r} is not a number of bytes")
    return int(text)


def _hosts_entry(node: str, network: str, value: str) -> Fault:
    from fabricgauge.lab.fault_kinds import HostsEntry

    name, equals, ip = value.partition("=")
    if not equals:
        raise UsageError(f"lab fault hosts: {value!r} is not NAME=IP, e.g. c1=10.77.0.99")
    return HostsEntry(node, network, name, ip)


def _number(text: str, kind: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"lab fault {kind}: {text!r} is not a number") from error
