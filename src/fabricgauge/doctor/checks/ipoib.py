"""Do the IP interfaces of InfiniBand and Omni-Path ports agree on their mode?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import End, ends, unusual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "ipoib"
TITLE = "IP over InfiniBand has one mode in a network, and the MTU of that mode"
WHY = "In datagram mode packets are small, and a node in another mode cannot be sent large ones."

#: The largest packet of connected mode (Linux, Documentation/infiniband/ipoib.rst).
CONNECTED_MTU_BYTES = 65520

#: The largest that datagram mode has on InfiniBand: 4096 less 4 octets of header (same).
DATAGRAM_MTU_BYTES = 4092


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    known = [(end, mode) for end in ends(preflight) if (mode := _mode(end))]
    if not known:
        return Skipped("no IP interface of an InfiniBand or Omni-Path port is known")
    found: list[Finding] = []
    for network in dict.fromkeys(end.network.name for end, _ in known):
        found += _look([(end, mode) for end, mode in known if end.network.name == network])
    return tuple(found)


def _mode(end: End) -> str:
    return end.seen.facts.get(f"ipoib mode {end.interface.name}", "")


def _look(members: list[tuple[End, str]]) -> Iterator[Finding]:
    common, _ = unusual({end.where: mode for end, mode in members})
    wanted = common if isinstance(common, str) else "connected"
    for end, mode in members:
        mtu = end.interface.mtu_bytes
        told = f"{end.where}: {mode} mode, MTU {mtu}"
        if mode != wanted:
            what = f"is in {mode} mode, the others are in {wanted} mode"
            yield _finding(end, Severity.FAIL, what, told, _set_mode(end, wanted))
        elif mode == "connected" and mtu <= DATAGRAM_MTU_BYTES:
            argv = ("ip", "link", "set", "dev", end.interface.name, "mtu", str(CONNECTED_MTU_BYTES))
            what = f"is in connected mode with the MTU of datagram mode ({mtu})"
            yield _finding(end, Severity.WARN, what, told, (Command(end.seen.name, argv),))


def _set_mode(end: End, mode: str) -> tuple[Command, ...]:
    argv = ("ip", "link", "set", "dev", end.interface.name, "type", "ipoib", "mode", mode)
    return (Command(end.seen.name, argv),)


def _finding(
    end: End, severity: Severity, what: str, told: str, mends: tuple[Command, ...]
) -> Finding:
    return Finding(
        ID, severity, end.where, what, (told,), WHY,
        "set mode and MTU alike on all nodes, where the interface is configured as well",
        (end.seen.name,), end.network.name, mends,
    )  # fmt: skip
