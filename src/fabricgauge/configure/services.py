"""Services of fabrics: opafm, opensm, rdma; pure. systemctl(1) of systemd 239 and later."""

from collections.abc import Iterator

from fabricgauge.configure.description import Services
from fabricgauge.configure.job import HEAD, Draft, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command

#: Which service manages which kind of network: without one its ports do not get active.
MANAGERS = {"opafm": "omni-path", "opensm": "infiniband"}

_START_PATIENCE_S = 15.0

#: What ``is-active`` prints of a unit that runs, and of one that does not.
_RUNS = {"active": True, "reloading": True, "activating": True,
         "inactive": False, "failed": False, "unknown": False}  # fmt: skip

#: ``is-enabled``; what is linked, masked, static … is neither.
_STARTS = {"enabled": True, "disabled": False}


def asks(services: Services) -> Iterator[Command]:
    if "opafm" in services.names:
        yield _has_opaconfig(services.node)


def steps(job: Draft, services: Services) -> Iterator[Step]:
    """One step for each service; only that which was off before is undone."""
    node = services.node
    for name in services.names:
        active, enabled = (
            Verification(_systemctl(node, f"is-{word}", name), f"\n{word}\n", patience_s=patience_s)
            for word, patience_s in (("active", _START_PATIENCE_S), ("enabled", 0.0))
        )
        ran, starts = _said(job, active.command, _RUNS), _said(job, enabled.command, _STARTS)
        unknown = [word for word, said in (("ran", ran), ("was enabled", starts)) if said is None]
        by_opaconfig = name == "opafm" and _there(job, node)
        yield Step(
            f"Run {name} on {on(node)}, now and after every start",
            _reason(name),
            _on(node, name, by_opaconfig), (active, enabled),
            _off(node, name, by_opaconfig, stop=ran is not True, disable=starts is not True),
            undo_note=f"whether it {' and '.join(unknown)} before is not known" if unknown else "",
            fulfilled=_evidence(job, node, name),
        )  # fmt: skip


def _systemctl(node: str, verb: str, *words: str) -> Command:
    return Command(node, ("systemctl", verb, *words))


def notes(job: Draft, services: Services) -> Iterator[str]:
    """A manager that sits where its network is not."""
    for name in services.names:
        kind = MANAGERS.get(name, "")
        networks = [wanted for wanted in job.wanted if wanted.kind == kind]
        if networks and all(
            port.node != services.node for wanted in networks for port in wanted.ports
        ):
            yield (
                f"{name} would run on {on(services.node)}, which has no port in"
                f" {networks[0].name}: a fabric manager only reaches the fabric that its own port"
                " is cabled to; without a switch between, let one of the nodes run it"
            )


def _said(job: Draft, question: Command, words: dict[str, bool]) -> bool | None:
    """What systemctl answered; None where it did not, or neither way."""
    return words.get(job.output(question).strip())


def _reason(name: str) -> str:
    if name in MANAGERS:
        return f"it manages the {MANAGERS[name]} fabric: ports get their addresses from it"
    if name == "rdma":
        return "it loads the modules that give programs access to the adapters"
    return "the description asks for it"


def _on(node: str, name: str, by_opaconfig: bool) -> tuple[Command, ...]:
    """opaconfig(8) of the Omni-Path suites enables opafm; where the node has no such program,
    systemd alone does.
    """
    if by_opaconfig:
        return Command(node, ("opaconfig", "-E", name)), _systemctl(node, "start", name)
    return (_systemctl(node, "enable", "--now", name),)


def _off(
    node: str, name: str, by_opaconfig: bool, *, stop: bool, disable: bool
) -> tuple[Command, ...]:
    stopping = (_systemctl(node, "stop", name),) if stop else ()
    if not disable:
        return stopping
    if by_opaconfig:
        return (*stopping, Command(node, ("opaconfig", "-D", name)))
    return (_systemctl(node, "disable", *["--now"] * stop, name),)


def _there(job: Draft, node: str) -> bool:
    reply = job.reply(_has_opaconfig(node))
    return isinstance(reply, Skipped) or reply.exit_code == 0


def _has_opaconfig(node: str) -> Command:
    return Command(node, ("sh", "-c", "command -v opaconfig"))


def _evidence(job: Draft, node: str, name: str) -> str:
    """What discovery says of the service; "active" alone may be over after the next start."""
    inventory = job.inventory(node) if node != HEAD else Skipped("the head is not discovered")
    if isinstance(inventory, Skipped):
        return ""
    said = inventory.facts.get(f"service {name}", "")
    return f"{node} says of {name}: {said}" if {"enabled", "active"} <= set(said.split()) else ""
