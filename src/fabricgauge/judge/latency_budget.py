"""Split the latency of a small message into the ends, the cables and the switches of its path."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricgauge.judge.stats.curves import suite_curves
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.words import figures


class SwitchTime(NamedTuple):
    """Hold what one switch adds to a message, and the publication of the figure."""

    technology: str
    link: str
    seconds: float
    source: str


#: The links of a technology by a part of their name; the first that fits.
SWITCH_TIMES = (
    SwitchTime("omni-path", "OPA100", 110e-9,
               "evaluation of Omni-Path 100 (RACF, 2015); Intel's product brief: 100 to 110 ns"),
    SwitchTime("omni-path", "CN5000", 100e-9,
               'Cornelis, "Switching, Hops, and Latency": below 100 ns'),
    SwitchTime("infiniband", "EDR", 90e-9, "NVIDIA's product brief of the SB7800 series"),
    SwitchTime("infiniband", "HDR", 130e-9, "NVIDIA's product brief of the QM8700 series"),
    SwitchTime("slingshot", "", 350e-9,
               'De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect", SC20: mean'),
)  # fmt: skip

#: Light in fibre takes 4.9 ns a metre (refractive index 1.47), a signal in copper 4.3 to 5.
CABLE_S_PER_M = 5e-9

#: Larger messages take a time of transfer that is neither the ends' nor the path's. 64 B at 100
#: Gb/s take 5 ns.
MOST_BYTES = 64


class LatencyBudget(NamedTuple):
    """Hold one figure's parts in seconds; ``cables_s`` is None if no length was stated.

    ``ends_s`` is what is left for both ends; below zero the figure is not that of this path.
    """

    network: str
    path: str
    message_bytes: int | None
    latency_s: float
    switches: int
    switch: SwitchTime
    cables_s: float | None
    cable_m: float
    ends_s: float

    @property
    def switches_s(self) -> float:
        return self.switches * self.switch.seconds

    @property
    def fits(self) -> bool:
        """Check if the path's own time is below the figure."""
        return self.ends_s > 0.0


def latency_budgets(run: Run) -> Iterator[LatencyBudget | Skipped]:
    """Yield the budget of each path whose number of switches and whose switch are known.

    It is skipped if the smallest message has more than ``MOST_BYTES``.
    """
    by_name = {network.name: network for network in run.fabric.networks}
    only = run.fabric.networks[0] if len(run.fabric.networks) == 1 else None
    for curve in suite_curves(run):
        if curve.pattern != "latency" or curve.quantity != "time" or not curve.points:
            continue
        network = by_name.get(curve.settings.get("network", ""), only)
        if network is not None:
            yield from _budget(network, run.fabric, curve)


def _budget(
    network: Network, fabric: Fabric, curve: SuiteCurve
) -> Iterator[LatencyBudget | Skipped]:
    fitting = (
        switch
        for switch in SWITCH_TIMES
        if switch.technology == network.technology and switch.link in network.link
    )
    switch = next(fitting, None)
    switches = _switches(network, fabric, curve.hosts)
    if switch is None or switches is None:
        return
    point, path = min(curve.points, key=_bytes), " → ".join(curve.hosts[:2])
    if _bytes(point) > MOST_BYTES:
        yield Skipped(
            f"{network.name}{path and f', {path}'}: the smallest message has"
            f" {figures.size(_bytes(point))}, and its transfer takes a part of the latency;"
            f" measure from {figures.size(MOST_BYTES)} or less on"
        )
        return
    latency_s = point.estimate.value
    cable_m = 0.0 if isinstance(network.cable_m, Skipped) else network.cable_m
    cables_s = cable_m * (switches + 1) * CABLE_S_PER_M
    ends_s = latency_s - switches * switch.seconds - cables_s
    yield LatencyBudget(
        network.name, path, point.message_bytes, latency_s, switches, switch,
        cables_s if cable_m else None, cable_m, ends_s,
    )  # fmt: skip


def _bytes(point: SuitePoint) -> int:
    return point.message_bytes or 0


def _switches(network: Network, fabric: Fabric, hosts: Sequence[str]) -> int | None:
    """Return the stated number, else 1 for two nodes on one leaf switch of a topology file."""
    if not isinstance(network.switches, Skipped):
        return network.switches
    pair = set(hosts[:2])
    leaves = (group for group in fabric.topology.groups if group.is_switch)
    is_one_leaf = len(pair) == 2 and any(pair <= set(leaf.nodes) for leaf in leaves)
    return 1 if is_one_leaf else None
