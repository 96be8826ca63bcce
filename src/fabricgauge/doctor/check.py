"""What a check is, and how it says what it found."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from fabricgauge.doctor.places import Cluster, KnownNode, Place, Port
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Checked, Command, Finding, Severity
from fabricgauge.model.preflight import Trial


class Check(msgspec.Struct, frozen=True):
    """One check; ``id`` is that of its section in the docs.

    ``title`` says what is so on a sound cluster, ``why`` what it does to the figures where it
    isn't. ``places`` are what there is to look at; where there is nothing, ``nothing`` says why.
    ``look`` gives one finding for each place that is not as it should be; places that share a
    sentence are put together later. ``remedy`` is that of findings without one of their own.
    ``shared`` says why nodes of a lab are not looked at: what they share on their one machine.
    ``reads`` are the trials that it needs.
    """

    id: str
    title: str
    why: str
    places: Callable[[Cluster], Any]
    nothing: str | Callable[[Cluster], str]
    look: Callable[[Cluster, Any], Iterable[Finding]]
    remedy: str = ""
    shared: str = ""
    reads: tuple[Trial, ...] = ()

    def looked(self, cluster: Cluster) -> Checked:
        """What it finds, or why it could not look."""
        if self.shared and cluster.preflight.fabric.virtual:
            return Checked(self.id, self.title, (), Skipped(self.shared))
        places = self.places(cluster)
        if not places:
            why = self.nothing if isinstance(self.nothing, str) else self.nothing(cluster)
            return Checked(self.id, self.title, (), Skipped(why))
        own = (
            msgspec.structs.replace(
                one, check=self.id, why=one.why or self.why, remedy=one.remedy or self.remedy
            )
            for one in self.look(cluster, places)
        )
        return Checked(self.id, self.title, tuple(own))


def each(look: Callable[[Any], Iterable[Finding]]) -> Callable[..., Iterator[Finding]]:
    """For a check that looks at each place alone."""
    return lambda cluster, places: (one for place in places for one in look(place))


def untried(what: str, otherwise: str) -> Callable[[Cluster], str]:
    """Why there is nothing: why nodes did not try it."""
    return lambda cluster: cluster.preflight.untried.get(what, otherwise)


def no_answer(cluster: Cluster) -> str:
    """Why no node can be looked at that must have answered for itself."""
    return "there are only printouts of tools" if cluster.nodes else "no node answered"


def found(
    severity: Severity,
    place: KnownNode | Place | Port | str,
    what: str,
    *evidence: str,
    remedy: str = "",
    why: str = "",
    nodes: Sequence[str] = (),
    network: str = "",
    mends: Iterable[Command] = (),
    affects: Iterable[str] = (),
) -> Finding:
    """A finding of the check that looks; ``why`` and ``remedy`` where they are not its own.

    Of a place, its node and network are known.
    """
    if isinstance(place, KnownNode):
        nodes, place = (place.name,), place.name
    elif not isinstance(place, str):
        nodes, network, place = (place.seen.name,), network or place.net, place.where
    return Finding(
        "", severity, place, what, evidence, why, remedy, tuple(nodes), network, tuple(mends),
        tuple(affects),
    )  # fmt: skip
