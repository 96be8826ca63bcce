"""Do nodes agree: in firmware, driver, kernel and MPI, and in the time? pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median

from fabricgauge.doctor.check import Check, each, found, untried
from fabricgauge.doctor.places import Cluster, KnownNode, told, unusual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Node
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Clock
from fabricgauge.words.figures import duration
from fabricgauge.words.sentences import listed

#: By name what is compared, and where it is found; an empty text is not known.
Compared = Mapping[str, Callable[[KnownNode], str]]


def unlike(group: Iterable[KnownNode], compared: Compared, verb: str = " is") -> Iterator[Finding]:
    """What nodes have that is not as most of the group have it."""
    for name, value in compared.items():
        common, odd = unusual({seen.name: text for seen in group if (text := value(seen))})
        for node, own in odd.items():
            what = f"{name}{verb} {own}, like nodes have {common}"
            if isinstance(common, Skipped):
                several = listed(sorted(set(odd.values())))
                what = f"{name} differs between like nodes: {several}"
            yield found(Severity.WARN, node, what, f"{node}: {name}{verb} {own}", nodes=(node,))


def _versions(group: Sequence[KnownNode]) -> Compared:
    """Firmware and driver of each product of adapter in the group; where it hangs may differ.

    A driver of the kernel itself has the kernel's version, which is compared anyway.
    """
    names = {
        (product := seen.product(one)): product
        if told(one.product, product) == product
        else f"{one.product} ({product})"
        for seen in group
        for one in seen.adapters
    }
    return {
        f"{what} of {name}": partial(_version_of, product, field)
        for what, field in (("firmware", "firmware"), ("driver", "driver_version"))
        for product, name in names.items()
    }


def _pauses(group: Sequence[KnownNode]) -> Compared:
    """Flow control of each interface, by its name."""
    names = dict.fromkeys(n for seen in group for n in seen.facts if n.startswith("pause "))
    return {f"flow control of {n.removeprefix('pause ')}": partial(_fact, n) for n in names}


def _fact(name: str, seen: KnownNode) -> str:
    return seen.fact(name)


def _version_of(product: str, field: str, seen: KnownNode) -> str:
    """Each version of a product on a node once; empty where it has none, or tells none."""
    known = {
        value
        for one in seen.adapters
        if seen.product(one) == product
        and isinstance(value := getattr(one, field), str) and value not in ("", seen.node.kernel)
    }  # fmt: skip
    return "; ".join(sorted(known))


def _mpi(seen: KnownNode) -> str:
    """``none`` where a whole survey found none in the PATH of the launcher's shell."""
    inventory = seen.inventory
    stacks = {f"{one.kind} {one.version}".strip() for one in inventory.stacks}
    surveyed = isinstance(inventory.node, Node) and inventory.sources and "answer" not in seen.facts
    return ", ".join(sorted(stacks)) or ("none" if surveyed else "")


COMPARED: Compared = {
    "kernel": lambda seen: seen.node.kernel,
    "system": lambda seen: seen.fact("os release"),
    "MPI": _mpi,
    "number of processors": lambda seen: str(seen.node.cpu_count) if seen.asked else "",
}

LIKENESS = Check(
    "likeness",
    "Like nodes have the same firmware, driver, flow control, kernel and MPI",
    "What differs between nodes makes their figures differ, and some versions do not work"
    " together.",
    lambda cluster: cluster.alike if len(cluster.nodes) > 1 else (),
    "fewer than two nodes are known",
    each(lambda group: unlike(group, {**_versions(group), **_pauses(group), **COMPARED})),
    "bring the nodes to one version: the same image, the same packages, the same firmware",
)

#: NTP keeps nodes within milliseconds; a second off means that it does not run.
WRONG_S = 1.0

#: munge(7): a credential is good for 300 s.
REFUSED_S = 300.0


def _clocks(_: Cluster, clocks: tuple[Clock, ...]) -> Iterator[Finding]:
    """Against the head's clock, or where that is wrong against most nodes'."""
    shift_s = _heads(clocks)
    whose, against = ("the head's", "the head") if shift_s == 0 else ("most nodes'", "most nodes")
    if shift_s:
        way = "behind" if shift_s > 0 else "ahead of"
        what = f"its clock is {duration(abs(shift_s))} {way} the nodes'"
        told = f"most of {len(clocks):,} nodes agree with each other, and not with the head"
        yield found(_severity(shift_s), "the head", what, told)
    for clock in (_shifted(clock, shift_s) for clock in clocks):
        off_s = least_offset_s(clock)
        if abs(off_s) < WRONG_S:
            continue
        way = "ahead of" if off_s > 0 else "behind"
        what = f"its clock is at least {duration(abs(off_s))} {way} {whose}"
        bounds = f"between {clock.low_s:+.3f} s and {clock.high_s:+.3f} s against {against}"
        yield found(
            _severity(off_s), clock.node, what, f"{clock.node}: {bounds}", nodes=(clock.node,)
        )  # fmt: skip


def _heads(clocks: tuple[Clock, ...]) -> float:
    """How far most nodes agree that they are off the head's, which then is wrong; else 0."""
    wrong = [clock for clock in clocks if abs(least_offset_s(clock)) >= WRONG_S]
    shift_s = median((clock.low_s + clock.high_s) / 2 for clock in wrong) if wrong else 0.0
    agreeing = [clock for clock in wrong if abs(least_offset_s(_shifted(clock, shift_s))) < WRONG_S]
    return shift_s if len(agreeing) > 1 and 2 * len(agreeing) > len(clocks) else 0.0


def _shifted(clock: Clock, by_s: float) -> Clock:
    return Clock(clock.node, clock.low_s - by_s, clock.high_s - by_s)


def least_offset_s(clock: Clock) -> float:
    """How far off the clock is at least, in seconds; positive when it is ahead."""
    if clock.low_s > 0:
        return clock.low_s
    return min(clock.high_s, 0.0)


def _severity(off_s: float) -> Severity:
    return Severity.FAIL if abs(off_s) > REFUSED_S else Severity.WARN


CLOCKS = Check(
    "clocks",
    "The nodes' clocks agree with the head's",
    "Batch systems refuse credentials of another time (munge after 5 minutes), files get times from"
    " the future, and logs cannot be laid side by side.",
    lambda cluster: cluster.preflight.clocks,
    untried("clocks", "no clock was read"),
    _clocks,
    "let chrony or ntpd run on every node and on the head, with one server for all:"
    " systemctl enable --now chronyd; chronyc makestep",
    "the nodes are one machine's and have its clock",
    ("clocks",),
)
