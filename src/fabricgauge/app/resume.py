"""Going on with a run that was broken off, on nodes that are still the same."""

import msgspec

from fabricgauge.app.progress import Progress
from fabricgauge.app.target import Target, discovered
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import Plan
from fabricgauge.process import end_marked_prefix
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load
from fabricgauge.words.figures import link_rate


class Rest(msgspec.Struct, frozen=True):
    """What a broken-off run was begun with, and which attempt at it this is."""

    fabric: Fabric
    plan: Plan
    attempt: int


def resume(target: Target, directory: RunDirectory, progress: Progress) -> Rest:
    """What a broken-off run left undone, on nodes that are still the same.

    The run keeps the fabric that it was begun on: its figures are judged by that one's
    ceilings, so what is added must be measured on the same.

    Raises:
        UsageError: the run is complete.
        CannotRun: nodes or networks are gone or have changed; the message says which.
    """
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete; there is nothing to resume")
    run = load(directory)
    end_marked_prefix(directory.identity)  # what a killed check may have left running
    attempt = 1 + sum(1 for folder in (directory.path / "raw").glob("discover*"))
    now = discovered(target, directory, progress, f"discover-{attempt}")
    changes = differences(run.plan, run.fabric, now)
    if changes:
        raise CannotRun(
            f"{directory.identity} cannot be resumed, its nodes are not what they were:"
            f" {'; '.join(changes)}. Mend that, or start a new check"
        )
    return Rest(run.fabric, run.plan, attempt)


def differences(plan: Plan, then: Fabric, now: Fabric) -> tuple[str, ...]:
    """What of the planned nodes and networks is no longer as it was, a sentence each."""
    nodes = dict.fromkeys(node for launch in plan.launches for node in launch.nodes)
    reasons = {node.name: node.reason for node in now.unreached}
    lost = [
        f"{node} was not reached ({reasons.get(node, 'it is not among the nodes')})"
        for node in nodes
        if isinstance(now.node(node), Skipped)
    ]
    planned = {launch.network for launch in plan.launches}
    changed = [
        f"{network.name} is {_told(now, network.name)}, it was {_facts(network)}"
        for network in then.networks
        if network.name in planned and _facts(network) != _told(now, network.name)
    ]
    return (*lost, *(changed if not lost else ()))


def _told(fabric: Fabric, name: str) -> str:
    found = [network for network in fabric.networks if network.name == name]
    return _facts(found[0]) if found else "gone"


def _facts(network: Network) -> str:
    """All that a ceiling and a path proof depend on."""
    rate = network.rate_bit_s
    said = "of unknown rate" if isinstance(rate, Skipped) else link_rate(rate)
    members = ", ".join(
        f"{member.node}:{member.interface} {member.ip} MTU {member.mtu_bytes}"
        for member in network.members
    )
    return f"{network.subnet} {said} ({members})"
