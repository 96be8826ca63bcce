"""Bonds, bridges, VLANs and what they are made of: no plan makes or breaks one; pure.

Source: ``ip -j -d addr`` of iproute2 6.1: ``info_kind`` of a link, its ``master``, and for a link
upon another the other's name as ``link``.
"""

from collections.abc import Iterator

from fabricgauge.configure import links
from fabricgauge.configure.job import Job
from fabricgauge.configure.links import Link, State
from fabricgauge.model.configuration import Wanted, WantedPort

#: Kinds of links (ip-link(8)) that somebody made of others, by the word for a sentence. What is
#: not here may be an adapter's own: veth, ipoib.
_MADE = {
    "bond": "a bond", "team": "a team", "bridge": "a bridge", "openvswitch": "a switch",
    "vlan": "a VLAN", "macvlan": "a macvlan", "ipvlan": "an ipvlan", "vxlan": "a VXLAN",
    "dummy": "a dummy", "tun": "a tunnel", "wireguard": "a tunnel",
}  # fmt: skip

#: Those that lie upon one other link and are lost with its definition.
_UPON = frozenset(("vlan", "macvlan", "ipvlan"))


def clashes(job: Job, backend: str, adapters_only: bool, replaces: bool) -> Iterator[str]:
    """Sentences on ports that would break such a link, or be written down wrongly.

    ``adapters_only``: it writes every interface down as an adapter. ``replaces``: what it writes
    takes the place of what defined the interface before.
    """
    for wanted, port, link, state in _known(job):
        where = f"{port.node}:{port.interface}"
        if link.master:
            yield (
                f"{where} belongs to {link.master}, which has the addresses:"
                f" name that as the interface for {wanted.name}, or another"
            )
        elif adapters_only and link.kind in _MADE:
            yield (
                f"{where} is {_MADE[link.kind]}, and for {backend} only adapters are planned: give"
                f" it {port.ip}/{port.prefix_length} where it is defined, or use the backend ip"
            )
        elif replaces and (above := _above(port, state)):
            yield (
                f"{where} carries {', '.join(above)}, of which a file for {backend} would say"
                f" nothing: give it {port.ip}/{port.prefix_length} where it is defined, or use the"
                " backend ip"
            )


def notes(job: Job, backend: str, adapters_only: bool) -> Iterator[str]:
    """What goes, or may be interrupted, when a service follows what is written for an adapter."""
    for _, port, link, state in _known(job):
        where = f"{port.node}:{port.interface}"
        others = [f"{one.ip}/{one.prefix_length}" for one in link.addresses
                  if one.scope == "global" and one.ip != port.ip]  # fmt: skip
        if adapters_only and others:
            yield (
                f"{where} has {', '.join(others)} as well, and {backend} is told of"
                f" {port.ip}/{port.prefix_length} alone: they may be gone afterwards"
            )
        if adapters_only and (above := _above(port, state)):
            yield f"{where} carries {', '.join(above)}, which may be interrupted for a moment"


def _known(job: Job) -> Iterator[tuple[Wanted, WantedPort, Link, State]]:
    for wanted, port in job.ports:
        state = links.state(job, port.node)
        link = state.link(port.interface) if isinstance(state, State) else state
        if isinstance(state, State) and isinstance(link, Link):
            yield wanted, port, link, state


def _above(port: WantedPort, state: State) -> list[str]:
    return [one.name for one in state.links if one.below == port.interface and one.kind in _UPON]
