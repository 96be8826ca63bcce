"""Check that ports of fabrics are active once their manager runs; pure.

Source: sysfs-class-infiniband of Linux 5.x: ``ports/<n>/state`` is ``4: ACTIVE`` once a subnet
manager gave the port an address; before, a cabled port is ``2: INIT``. ``dev_port`` of an interface
of IP over InfiniBand counts the adapter's ports from 0 (ipoib_main.c of Linux 6.12).
"""

from collections.abc import Iterator

from fabricgauge.features.configure.job import Draft
from fabricgauge.features.configure.services import MANAGERS
from fabricgauge.features.configure.values import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.finding import Command

#: Every other state of a port, as /sys prints it (ib_port_state of Linux 6.12).
_NOT_ACTIVE = ("0: NOP", "1: DOWN", "2: INIT", "3: ARMED", "5: ACTIVE_DEFER")
_MOST_DIGITS = 3

#: A manager sweeps its fabric within this time of its start.
PATIENCE_S = 60.0


def _managed(job: Draft) -> Iterator[tuple[str, WantedNetwork]]:
    """Yield the networks whose fabric manager the description starts, each behind its manager."""
    kinds = {
        MANAGERS[name]: name
        for services in job.description.services
        for name in services.names
        if name in MANAGERS
    }
    for network in job.wanted:
        if network.kind in kinds and network.ports:
            yield kinds[network.kind], network


def steps(job: Draft) -> Iterator[Step]:
    """Yield a check of each network whose fabric manager the description starts."""
    for manager, network in _managed(job):
        yield Step(
            f"Check that the ports of {network.name} are active",
            f"{manager} gives each cabled port its address: a port that stays INIT has"
            " no manager, one that is DOWN has no cable",
            verify=tuple(
                check for port in network.ports
                for check in _check_port(job, port)
            ),
            undo_note="it changes nothing", follows=True,
        )  # fmt: skip


def asks(job: Draft) -> Iterator[Command]:
    """Yield the questions for the number of each port that ``steps`` checks."""
    for _, network in _managed(job):
        for port in network.ports:
            yield _ask_number(port)


def _ask_number(port: WantedPort) -> Command:
    return Command(port.node, ("cat", "--", f"/sys/class/net/{port.interface}/dev_port"))


def _check_port(job: Draft, port: WantedPort) -> Iterator[Verification]:
    """Yield checks of the interface's own port; if its number is unknown, of all its adapter's."""
    number = job.output(_ask_number(port)).strip()
    folder = f"/sys/class/net/{port.interface}/device/infiniband"
    is_known = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    pattern = f"*/ports/{int(number) + 1}/state" if is_known else "*/ports/*/state"
    states = Command(
        port.node, ("find", folder, "-path", pattern, "-exec", "grep", "-hs", ": ", "{}", "+")
    )
    yield Verification(states, "\n4: ACTIVE\n", patience_s=PATIENCE_S)
    for state in () if is_known else _NOT_ACTIVE:
        yield Verification(states, f"\n{state}", absent=True, patience_s=PATIENCE_S)
