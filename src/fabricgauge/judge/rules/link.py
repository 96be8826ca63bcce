"""Has every interface of the network a live link?"""

from fabricgauge.judge import wording
from fabricgauge.judge.interface import Context
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Interface, Member, Network
from fabricgauge.model.verdict import Outcome, Verdict

ID = "link"
TITLE = "Every interface has a live link"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(
        _judge(context.run.fabric, subject.network)
        for subject in context.subjects
        if not isinstance(subject.network, Skipped)
    )


def _judge(fabric: Fabric, network: Network) -> Verdict:
    found = [(member, _interface(fabric, member)) for member in network.members]
    dead = [
        f"{member.node}:{member.interface}"
        for member, interface in found
        if not isinstance(interface, Skipped) and interface.carrier is False
    ]
    if dead:
        return _dead(network, dead)
    live = [
        member
        for member, interface in found
        if not isinstance(interface, Skipped) and interface.carrier is True
    ]
    if len(live) < len(found) or not found:
        reason = f"{len(live)} of {len(found)} interfaces report a live link, the others nothing"
        return Verdict(ID, Outcome.SKIPPED, network.name, reason)
    return Verdict(ID, Outcome.PASS, network.name, f"all {len(live)} interfaces have a live link")


def _interface(fabric: Fabric, member: Member) -> Interface | Skipped:
    node = fabric.node(member.node)
    return node if isinstance(node, Skipped) else node.interface(member.interface)


def _dead(network: Network, dead: list[str]) -> Verdict:
    return Verdict(
        ID, Outcome.FAIL, network.name, f"no carrier on {wording.listed(dead)}",
        evidence=tuple(f"the kernel reports no carrier on {name}" for name in dead),
        cause="the cable is not plugged in or broken, or the port at its other end is off",
        remedy="reseat or exchange the cable, switch the port on; on the node:"
        " `ip link set dev NAME up`",
    )  # fmt: skip
