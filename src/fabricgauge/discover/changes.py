"""What has changed at a member of a network between two looks at its node; pure."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Member, Network, Node, Shaper, Unreached


def changes(
    network: Network, member: Member, before: Node | Skipped, now: Node | Unreached | None
) -> Iterator[str]:
    """Sentences for a person, each naming node, interface and network."""
    where = f"{member.node}:{member.interface} ({network.name})"
    if now is None:
        yield f"{member.node} cannot be reached since discovery: its launcher does not list it"
        return
    if isinstance(now, Unreached):
        yield f"{member.node} cannot be reached since discovery: {now.reason}"
        return
    if isinstance(before, Node) and before.boot_id != now.boot_id:
        yield f"{member.node} was rebooted since discovery"
    here = now.interface(member.interface)
    then = before.interface(member.interface) if isinstance(before, Node) else before
    if isinstance(here, Skipped):
        yield f"{where} is gone since discovery"
        return
    yield from _link(where, here)
    yield from _address(where, member, here)
    if isinstance(then, Interface):
        yield from _settings(where, then, here)


def _link(where: str, here: Interface) -> Iterator[str]:
    """The state now counts, whatever discovery saw: it is why a launch broke."""
    if isinstance(here.carrier, Skipped):
        yield f"{where} is down: it was switched off"
    elif not here.carrier:
        yield f"{where} has lost its carrier: the cable or the other end is gone"
    elif here.operstate in ("down", "lowerlayerdown"):
        yield f"{where} is down (operstate {here.operstate})"


def _address(where: str, member: Member, here: Interface) -> Iterator[str]:
    if all(address.ip != member.ip for address in here.addresses):
        yield f"{where} has lost its address {member.ip}"


def _settings(where: str, then: Interface, here: Interface) -> Iterator[str]:
    if then.mtu_bytes != here.mtu_bytes:
        yield f"{where} has MTU {here.mtu_bytes} now, discovery found {then.mtu_bytes}"
    if _rate(then.speed_bit_s) != _rate(here.speed_bit_s):
        yield (
            f"{where} reports {_rate(here.speed_bit_s)} now, "
            f"discovery found {_rate(then.speed_bit_s)}"
        )
    if _shaped(then) != _shaped(here):
        yield f"{where} is {_shaped(here)} now, discovery found it {_shaped(then)}"


def _rate(speed_bit_s: float | Skipped) -> str:
    if isinstance(speed_bit_s, Skipped):
        return "no rate"
    return f"{speed_bit_s / 1e6:g} Mb/s"


def _shaped(interface: Interface) -> str:
    if isinstance(interface.shaper, Shaper):
        return f"shaped to {interface.shaper.rate_bit_s / 1e6:.4g} Mb/s"
    return "unshaped"
