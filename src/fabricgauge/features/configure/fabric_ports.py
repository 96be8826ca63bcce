"""Check that ports of fabrics are active once their manager runs; pure.

Source: sysfs-class-infiniband of Linux 5.x: ``ports/<n>/state`` is ``4: ACTIVE`` once a subnet
manager gave the port an address; before, a cabled port is ``2: INIT``.
"""

from collections.abc import Iterator

from fabricgauge.features.configure.job import Draft
from fabricgauge.features.configure.services import MANAGERS
from fabricgauge.features.configure.values import Step, Verification
from fabricgauge.model.finding import Command

#: A manager sweeps its fabric within this time of its start.
PATIENCE_S = 60.0


def steps(job: Draft) -> Iterator[Step]:
    """Yield a check of each network whose fabric manager the description starts."""
    kinds = {
        MANAGERS[name]: name
        for services in job.description.services
        for name in services.names
        if name in MANAGERS
    }
    for network in job.wanted:
        if network.kind not in kinds or not network.ports:
            continue
        yield Step(
            f"Check that the ports of {network.name} are active",
            f"{kinds[network.kind]} gives each cabled port its address: a port that stays INIT has"
            " no manager, one that is DOWN has no cable",
            verify=tuple(
                Verification(_read_states(port.node, port.interface), "4: ACTIVE",
                             patience_s=PATIENCE_S)
                for port in network.ports
            ),
            undo_note="it changes nothing", follows=True,
        )  # fmt: skip


def _read_states(node: str, interface: str) -> Command:
    """Return the command that prints the states of an interface's adapter, without a shell."""
    folder = f"/sys/class/net/{interface}/device/infiniband"
    return Command(node, ("grep", "-rhs", "--include=state", ": ", folder))
