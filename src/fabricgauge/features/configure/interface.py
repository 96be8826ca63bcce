"""Plan the configuration of networks: facts, a first draft, the nodes' replies, the plan.

Head and nodes are asked the ``questions``, and after a first plan also the ``checks``; both change
nothing. Then ``plan`` uses all replies. Without replies there is a plan too, but fewer of its steps
are known to be fulfilled.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

import msgspec

from fabricgauge.features.configure import (
    clashes,
    export,
    image,
    lifeline,
    links,
    restart,
    services,
)
from fabricgauge.features.configure.apply.hosts import PlanHosts, ask_hosts
from fabricgauge.features.configure.backends import BACKENDS
from fabricgauge.features.configure.description import (
    Description,
    Export,
    FabricSuite,
    Image,
    NetworkDescription,
    Osu,
)
from fabricgauge.features.configure.job import (
    HEAD,
    Backend,
    Configuration,
    Draft,
    Step,
    Verification,
    with_evidence,
)
from fabricgauge.features.configure.ports import ports_of, subnet_notes
from fabricgauge.lab.spec import address
from fabricgauge.lab.state import LabNetwork, LabState
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.inventory import Inventory

#: How many nodes without a clear port an error names.
_NAMED = 20


def draft(description: Description, inventories: Iterable[Inventory]) -> Draft:
    """Choose each node's interface and address.

    If the lanes of an adapter hide its port, the lanes are planned alone.

    Raises:
        UsageError: a subnet is not valid, the backend is unknown, or nodes have no clear port; all
            of them are named.
    """
    backend_of(description)
    by_name = {inventory.name: inventory for inventory in inventories}
    wanted, troubles, doubts = ports_of(description, by_name)
    job = Draft(description, wanted, tuple(by_name.values()), {}, troubles, doubts)
    if not _any_due(restart.lanes_steps(job)):
        _refuse_troubles(description, troubles)
    return job


def _refuse_troubles(description: Description, troubles: tuple[str, ...]) -> None:
    more = f"; and {len(troubles) - _NAMED} more" if len(troubles) > _NAMED else ""
    if troubles:
        raise UsageError(
            f"{description.origin}: no plan is made: " + "; ".join(troubles[:_NAMED]) + more
        )


def backend_of(description: Description) -> Backend:
    """Return the backend; raise UsageError if none is named, or an unknown one."""
    if description.backend not in BACKENDS:
        unnamed = 'no backend is named; write backend = "ip" at its top, or use --backend'
        wrong = f"no backend {description.backend!r:.80}" if description.backend else unnamed
        raise UsageError(f"{description.origin}: {wrong}; there is {', '.join(BACKENDS)}")
    return BACKENDS[description.backend]


def questions(job: Draft) -> tuple[Command, ...]:
    """Return the commands that read what the plan depends on, each once."""
    return tuple(dict.fromkeys(_questions(job)))


def _questions(job: Draft) -> Iterator[Command]:
    description = job.description
    for root in _images(description):
        yield from image.asks(root)
    if isinstance(description.export, Export):
        yield from export.asks(description.export)
    for service_table in description.services:
        yield from services.asks(service_table)
    if _any_due(restart.lanes_steps(job)):
        yield from restart.asks(description.nodes)
    if not job.troubles:
        yield from services.port_asks(job)
        yield links.questions(HEAD)[0]  # nodes are asked for their lifelines anyway
        yield from lifeline.asks(job)
        yield from backend_of(description).questions(job)


def _images(description: Description) -> tuple[Image, ...]:
    head = description.head
    head_image = Image(
        "/", packages=head.packages, memlock=head.memlock, repositories=head.repositories
    )
    return (
        (head_image,) if isinstance(description.image, Skipped) else (head_image, description.image)
    )


def checks(configuration: Configuration) -> tuple[Command, ...]:
    """Return the verifications of steps with commands, each once.

    A step that follows others is verified even if these are fulfilled: an earlier run may have
    ended between them.
    """
    return tuple(
        dict.fromkeys(
            check.command
            for step in configuration.steps
            if step.commands and (step.follows or not step.fulfilled)
            for check in step.verify
        )
    )


def plan(job: Draft) -> Configuration:
    """Return the ordered steps, fulfilled ones with their evidence.

    Raises:
        UsageError: the backend cannot express a name, a present setting contradicts the
            description, or a change would cut a node off.
    """
    backend = backend_of(job.description)
    lanes = with_evidence(restart.lanes_steps(job), job.replies)
    if job.troubles:
        return _plan_lanes_alone(job, backend, lanes)
    _refuse_troubles(job.description, tuple(clashes.clashes(job, backend)))
    head, *images = _images(job.description)
    image_steps = tuple(
        step
        for root in images
        for step in with_evidence((*image.steps(job, root), *backend.pack(job, root)), job.replies)
    )
    head_steps = with_evidence((*image.steps(job, head), *_service_steps(job)), job.replies)
    restarts = _restarts(job, backend, _any_due(image_steps), _any_due(lanes))
    early = restarts if job.doubts or _any_due(lanes) else ()
    steps = (
        *image_steps, *head_steps, *lanes,
        *with_evidence(
            (*backend.define(job), *early, *backend.activate(job), *services.port_steps(job),
             *_ping_steps(job)),
            job.replies,
        ),
        *(() if early else with_evidence(restarts, job.replies)),
    )  # fmt: skip
    notes = tuple(_notes(job, backend))
    return Configuration(backend.name, job.wanted, steps, notes)


def _service_steps(job: Draft) -> Iterator[Step]:
    description = job.description
    if isinstance(description.export, Export):
        yield from with_evidence(export.steps(job, description.export), job.replies)
    if isinstance(description.fabric_suite, FabricSuite):
        yield from image.suite_steps(description.fabric_suite)
    for service_table in description.services:
        yield from services.steps(job, service_table)
    if isinstance(description.osu, Osu):
        yield from image.osu_steps(description.osu)


def _any_due(steps: tuple[Step, ...]) -> bool:
    return any(not step.fulfilled for step in steps)


def _restarts(job: Draft, backend: Backend, image_due: bool, lanes_due: bool) -> tuple[Step, ...]:
    """Return the restart that makes changes of image or lanes take effect, if any."""
    reasons: list[str] = []
    verify: list[Verification] = []
    if isinstance(job.description.image, Image):
        reasons.append("nodes run the image that they started with")
        verify += [
            check for node in job.nodes for check in image.node_checks(job.description.image, node)
        ]
    if lanes_due:
        reasons.append("an adapter's lanes change when it starts")
        new_boots = restart.boot_checks(job, job.nodes)
        # What holds before the restart would hide that it is due.
        verify = [*verify, *new_boots] if new_boots else []
    if not reasons:
        return ()
    due = image_due or lanes_due
    restart_step = restart.step(job, job.nodes or job.description.nodes, "; ".join(reasons), verify,
                       backend.from_head)  # fmt: skip
    return (restart_step,) if due or job.replies else ()


def _plan_lanes_alone(job: Draft, backend: Backend, lanes: tuple[Step, ...]) -> Configuration:
    nodes = job.description.nodes
    restart_step = restart.step(job, nodes, "an adapter's lanes change when it starts", (),
                         backend.from_head)  # fmt: skip
    notes = (
        "only the lanes are planned: with four ports on an adapter it is not clear which one is"
        " meant; run configure again once the nodes have restarted",
        *job.troubles,
    )
    return Configuration(backend.name, job.wanted, (*lanes, restart_step), notes)


def _notes(job: Draft, backend: Backend) -> Iterator[str]:
    description = job.description
    yield from subnet_notes(job)
    for service_table in description.services:
        yield from services.notes(job, service_table)
    for root in _images(description):
        yield from image.notes(job, root)
    yield from clashes.notes(job, backend)
    yield from backend.notes(job)
    yield from job.doubts


def make_plan(
    description: Description, inventories: tuple[Inventory, ...], hosts: PlanHosts | Skipped
) -> Configuration:
    """Make the plan; without hosts nothing is asked, and only the facts show what is fulfilled.

    Raises:
        UsageError: the description does not fit the nodes.
    """
    job = draft(description, inventories)
    if isinstance(hosts, Skipped):
        return plan(job)
    job = msgspec.structs.replace(job, replies=ask_hosts(hosts, questions(job)))
    first = plan(job)
    more = tuple(command for command in checks(first) if command not in job.replies)
    return plan(msgspec.structs.replace(job, replies={**job.replies, **ask_hosts(hosts, more)}))


def require_answers(description: Description, inventories: tuple[Inventory, ...]) -> None:
    """Refuse to plan for nodes that could not be asked.

    Raises:
        CannotRun: a node did not answer; each is named with the reason.
    """
    silent = [
        f"{inventory.name}: {inventory.node.reason}"
        for inventory in inventories
        if inventory.name in description.nodes
        and isinstance(inventory.node, Skipped)
        and not inventory.sources
    ]
    if silent:
        raise CannotRun(
            "cannot plan for nodes that cannot be asked; exclude them with -x, or use a bundle: "
            + "; ".join(silent[:20])
        )


def lab_description(state: LabState, nodes: Collection[str], backend: str) -> Description:
    """Describe every network of the lab for these nodes. In the first, each end has its node's
    name.

    Raises:
        UsageError: a backend that no lab has.
    """
    if backend not in ("", "ip"):
        raise UsageError(f"a lab's nodes have no {backend}; without a FILE use the backend ip")
    return Description(
        origin=f"lab {state.name}",
        backend="ip",
        networks=tuple(_lab_network(state, network, nodes) for network in state.networks),
    )


def _lab_network(
    state: LabState, network: LabNetwork, nodes: Collection[str]
) -> NetworkDescription:
    chosen = tuple(node for node in state.nodes if node.index and node.name in nodes)
    return NetworkDescription(
        name=network.name,
        subnet=network.subnet,
        kind="ethernet",
        nodes=tuple(node.name for node in chosen),
        interfaces={node.name: network.interface for node in chosen},
        rate_bit_s=network.rate_bit_s,
        mtu_bytes=network.mtu_bytes,
        suffix=f"-{network.name}",
        addresses={node.name: address(network.index, node.index) for node in chosen},
        plain=network.index == 0,
        exclusive=True,
    )


#: Enough that a lost one shows, few enough to wait for; iputils and busybox know both options.
COUNT, WAIT_S = 3, 2

#: IPv4's header without options (RFC 791) and that of an ICMP echo (RFC 792).
_HEADERS_BYTES = 20 + 8

#: A node keeps the former adapter of an address for up to 45 s, then probes it for 8 s more
#: (arp(7): base_reachable_time_ms times 0.5 to 1.5, delay_first_probe_time, ucast_solicit).
PATIENCE_S = 60.0


def _ping_steps(job: Draft) -> Iterator[Step]:
    """Yield for each network pings along its row of nodes, both ways between neighbours."""
    for network in job.wanted:
        reason = "correct addresses on each node do not prove that the network works"
        words = ["-c", str(COUNT), "-W", str(WAIT_S)]
        if not isinstance(network.mtu_bytes, Skipped):  # a node does not fragment such packets
            reason += f", and a switch may drop packets of {network.mtu_bytes} bytes"
            words += ["-s", str(network.mtu_bytes - _HEADERS_BYTES)]
        pings = tuple(
            Verification(
                Command(sender.node, ("ping", *words, "-I", sender.interface, receiver.ip)),
                " 0% packet loss", patience_s=PATIENCE_S,
            )
            for pair in pairwise(network.ports)
            for sender, receiver in (pair, pair[::-1])
        )  # fmt: skip
        if pings:
            yield Step(
                f"Check that the ends of {network.name} reach each other", reason, verify=pings,
                undo_note="it changes nothing", follows=True,
            )  # fmt: skip
