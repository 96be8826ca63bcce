"""Plan services of fabrics, opafm, opensm and rdma, and check the ports that they manage; pure.

Sources: systemctl(1) of systemd 239 and later; sysfs-class-infiniband of Linux 5.x:
``ports/<n>/state`` is ``4: ACTIVE`` once a subnet manager gave the port an address; before, a
cabled port is ``2: INIT``. ``dev_port`` of an interface of IP over InfiniBand counts the adapter's
ports from 0 (ipoib_main.c of Linux 6.12).
"""

from collections.abc import Iterator

from fabricgauge.features.configure.description import Services
from fabricgauge.features.configure.job import (
    HEAD,
    Draft,
    Step,
    Verification,
    WantedNetwork,
    WantedPort,
    on,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command

#: The kind of network that a service manages: without a manager its ports do not become active.
MANAGERS = {"opafm": "omni-path", "opensm": "infiniband"}

_REASONS = {
    **{
        name: f"it manages the {kind} fabric: ports get their addresses from it"
        for name, kind in MANAGERS.items()
    },
    "rdma": "it loads the modules that give programs access to the adapters",
}

_START_PATIENCE_S = 15.0

#: Whether a unit runs, by the answer of ``is-active``.
_ACTIVE_STATES = {"active": True, "reloading": True, "activating": True,
         "inactive": False, "failed": False, "unknown": False}  # fmt: skip

#: Whether it starts at boot, by the answer of ``is-enabled``; linked, masked, static … are neither.
_ENABLED_STATES = {"enabled": True, "disabled": False}


def asks(services: Services) -> Iterator[Command]:
    if "opafm" in services.names:
        yield _find_opaconfig(services.node)


def steps(job: Draft, services: Services) -> Iterator[Step]:
    """Yield one step for each service; its undoing only stops and disables what was off before.

    opaconfig(8) of the Omni-Path suites enables opafm; without that program systemd does.
    """
    node = services.node
    inventory = Skipped("the head is not discovered") if node == HEAD else job.inventory(node)
    facts = {} if isinstance(inventory, Skipped) else inventory.facts
    for name in services.names:
        active, enabled = (
            Verification(_systemctl(node, f"is-{word}", name), f"\n{word}\n", patience_s=patience_s)
            for word, patience_s in (("active", _START_PATIENCE_S), ("enabled", 0.0))
        )
        # None: the answer is unknown, or neither.
        is_active = _ACTIVE_STATES.get(job.output(active.command).strip())
        is_enabled = _ENABLED_STATES.get(job.output(enabled.command).strip())
        states = (("ran", is_active), ("was enabled", is_enabled))
        unknown = [word for word, state in states if state is None]
        start: tuple[Command, ...] = (_systemctl(node, "enable", "--now", name),)
        stop = (_systemctl(node, "stop", name),) if is_active is not True else ()
        disable = (_systemctl(node, "disable", *["--now"] * bool(stop), name),)
        if name == "opafm" and _may_have_opaconfig(job, node):
            start = (Command(node, ("opaconfig", "-E", name)), _systemctl(node, "start", name))
            disable = (*stop, Command(node, ("opaconfig", "-D", name)))
        state = facts.get(f"service {name}", "")
        is_settled = {"enabled", "active"} <= set(state.split())
        yield Step(
            f"Run {name} on {on(node)}, now and after every start",
            _REASONS.get(name, "the description requires it"),
            start, (active, enabled), stop if is_enabled is True else disable,
            undo_note=f"whether it {' and '.join(unknown)} before is not known" if unknown else "",
            fulfilled=f"{name} of {node} is {state}" if is_settled else "",
        )  # fmt: skip


def _systemctl(node: str, verb: str, *words: str) -> Command:
    return Command(node, ("systemctl", verb, *words))


def notes(job: Draft, services: Services) -> Iterator[str]:
    """Report fabric managers on nodes without a port in their network."""
    for name in services.names:
        kind = MANAGERS.get(name, "")
        networks = [network for network in job.wanted if network.kind == kind]
        if networks and all(
            port.node != services.node for network in networks for port in network.ports
        ):
            yield (
                f"{name} would run on {on(services.node)}, which has no port in"
                f" {networks[0].name}: a fabric manager only reaches the fabric that its own port"
                " is cabled to; without a switch between, let one of the nodes run it"
            )


def _may_have_opaconfig(job: Draft, node: str) -> bool:
    reply = job.reply(_find_opaconfig(node))
    return isinstance(reply, Skipped) or reply.exit_code == 0


def _find_opaconfig(node: str) -> Command:
    return Command(node, ("sh", "-c", "command -v opaconfig"))


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


def port_steps(job: Draft) -> Iterator[Step]:
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


def port_asks(job: Draft) -> Iterator[Command]:
    """Yield the questions for the number of each port that ``port_steps`` checks."""
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
