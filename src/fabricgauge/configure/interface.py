"""What the rest of the program asks of this stage.

``questions`` are asked of head and nodes, ``checks`` as well once there is a first plan; both
change nothing. ``plan`` is made anew from all replies. Without any reply it is still a plan, but
fewer of its steps are known to be fulfilled.
"""

from collections.abc import Iterable, Iterator

from fabricgauge.configure import clashes, export, image, lifeline, pings, restart, services
from fabricgauge.configure.backends import BACKENDS
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.description import Description, Export, Image
from fabricgauge.configure.job import Draft, Reply, with_evidence
from fabricgauge.configure.ports import ports_of
from fabricgauge.configure.subnets import subnet_notes
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Configuration, Step, Verification
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.inventory import Inventory

__all__ = ["Draft", "Reply", "checks", "draft", "plan", "questions"]

#: How many nodes without a clear port an error names.
_NAMED = 20


def draft(description: Description, inventories: Iterable[Inventory]) -> Draft:
    """Choose each node's interface and address.

    Raises:
        UsageError: a subnet is none, an unknown backend, or nodes whose port is not clear; all of
            them are named. Where it is the lanes of an adapter that hide its port, they are
            planned alone.
    """
    backend_of(description)
    known = {one.name: one for one in inventories}
    wanted, troubles, doubts = ports_of(description, known)
    made = Draft(description, wanted, tuple(known.values()), {}, troubles, doubts)
    if not _due(restart.lanes_steps(made)):
        _refuse(description, troubles)
    return made


def _refuse(description: Description, troubles: tuple[str, ...]) -> None:
    more = f"; and {len(troubles) - _NAMED} more" if len(troubles) > _NAMED else ""
    if troubles:
        raise UsageError(
            f"{description.origin}: no plan is made: " + "; ".join(troubles[:_NAMED]) + more
        )


def backend_of(description: Description) -> Backend:
    """Raises UsageError where none is named, or one that there is not."""
    if description.backend not in BACKENDS:
        unnamed = 'no backend is named; write backend = "ip" at its top, or use --backend'
        wrong = f"no backend {description.backend!r:.80}" if description.backend else unnamed
        raise UsageError(f"{description.origin}: {wrong}; there is {', '.join(BACKENDS)}")
    return BACKENDS[description.backend]


def questions(job: Draft) -> tuple[Command, ...]:
    """Commands that read what the plan depends on, each once."""
    return tuple(dict.fromkeys(_questions(job)))


def _questions(job: Draft) -> Iterator[Command]:
    description = job.description
    for root in _roots(description):
        yield from image.asks(root)
    if isinstance(description.export, Export):
        yield from export.asks(description.export)
    for one in description.services:
        yield from services.asks(one)
    if _due(restart.lanes_steps(job)):
        yield from restart.asks(description.nodes)
    if not job.troubles:
        yield from clashes.asks()
        yield from lifeline.asks(job)
        yield from backend_of(description).questions(job)


def _roots(description: Description) -> tuple[Image, ...]:
    """The head's own root, and the image's."""
    head = description.head
    own = Image("/", packages=head.packages, memlock=head.memlock)
    return (own,) if isinstance(description.image, Skipped) else (own, description.image)


def checks(configuration: Configuration) -> tuple[Command, ...]:
    """The verifications of the steps that change something, each command once.

    A step that follows others is asked even if these are fulfilled: an earlier making may have
    been broken off between them.
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
    """The ordered steps, fulfilled ones with their evidence.

    Raises:
        UsageError: a name that the backend cannot express, something that is there already
            contradicts the description, or a change that would cut a node off.
    """
    backend = backend_of(job.description)
    lanes = with_evidence(restart.lanes_steps(job), job.replies)
    if job.troubles:
        return _lanes_alone(job, backend, lanes)
    _refuse(job.description, tuple(clashes.clashes(job, backend)))
    head, *images = _roots(job.description)
    packed = tuple(
        step
        for one in images
        for step in with_evidence((*image.steps(job, one), *backend.pack(job, one)), job.replies)
    )
    around = with_evidence((*image.steps(job, head), *_services(job)), job.replies)
    again = _restarts(job, backend, _due(packed), _due(lanes))
    early = again if job.doubts or _due(lanes) else ()
    steps = (
        *packed, *around, *lanes,
        *with_evidence((*backend.define(job), *early, *backend.activate(job), *pings.steps(job)),
                 job.replies),
        *(() if early else with_evidence(again, job.replies)),
    )  # fmt: skip
    notes = tuple(_notes(job, backend))
    return Configuration(backend.name, job.wanted, steps, notes)


def _services(job: Draft) -> Iterator[Step]:
    description = job.description
    if isinstance(description.export, Export):
        yield from with_evidence(export.steps(job, description.export), job.replies)
    for one in description.services:
        yield from services.steps(job, one)


def _due(steps: tuple[Step, ...]) -> bool:
    return any(not step.fulfilled for step in steps)


def _restarts(job: Draft, backend: Backend, image_due: bool, lanes_due: bool) -> tuple[Step, ...]:
    """Return the restart that makes changes of image or lanes take effect, if any."""
    reasons: list[str] = []
    verify: list[Verification] = []
    if isinstance(job.description.image, Image):
        reasons.append("nodes run the image that they started with")
        verify += [
            check for node in job.nodes for check in image.seen_on(job.description.image, node)
        ]
    if lanes_due:
        reasons.append("an adapter's lanes change when it starts")
        anew = restart.booted_anew(job, job.nodes)
        verify = [*verify, *anew] if anew else []  # what holds already would hide that it is due
    if not reasons:
        return ()
    due = image_due or lanes_due
    one = restart.step(job, job.nodes or job.description.nodes, "; ".join(reasons), verify,
                       backend.from_head)  # fmt: skip
    return (one,) if due or job.replies else ()


def _lanes_alone(job: Draft, backend: Backend, lanes: tuple[Step, ...]) -> Configuration:
    nodes = job.description.nodes
    again = restart.step(job, nodes, "an adapter's lanes change when it starts", (),
                         backend.from_head)  # fmt: skip
    notes = (
        "only the lanes are planned: with four ports on an adapter it is not clear which one is"
        " meant; run configure again once the nodes have restarted",
        *job.troubles,
    )
    return Configuration(backend.name, job.wanted, (*lanes, again), notes)


def _notes(job: Draft, backend: Backend) -> Iterator[str]:
    description = job.description
    yield from subnet_notes(job)
    for one in description.services:
        yield from services.notes(job, one)
    for root in _roots(description):
        yield from image.notes(job, root)
    yield from clashes.notes(job, backend)
    yield from backend.notes(job)
    yield from job.doubts
