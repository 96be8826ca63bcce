"""Do like nodes agree in firmware, driver, kernel and MPI, and do clocks agree? pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median

from fabricgauge.doctor.checks import (
    Check,
    examine_separately,
    explain_untried,
    make_finding,
)
from fabricgauge.doctor.places import Cluster, KnownNode, find_outliers, get_text
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Node
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Clock
from fabricgauge.model.words.figures import duration
from fabricgauge.model.words.sentences import listed

#: By name of a property, the function that reads it from a node; "" is unknown.
Properties = Mapping[str, Callable[[KnownNode], str]]


def find_differences(group: Iterable[KnownNode], properties: Properties) -> Iterator[Finding]:
    """Report each property in which a node differs from most nodes of its group."""
    for name, get_value in properties.items():
        common, outliers = find_outliers(
            {node.name: value for node in group if (value := get_value(node))}
        )
        for node_name, value in outliers.items():
            summary = f"differs in {name}: {value}, like nodes have {common}"
            if isinstance(common, Skipped):
                values = listed(sorted(set(outliers.values())))
                summary = f"differs from like nodes in {name}: {values}"
            evidence = f"{node_name}: {name}: {value}"
            yield make_finding(Severity.WARN, node_name, summary, evidence, nodes=(node_name,))


def _list_versions(group: Sequence[KnownNode]) -> Properties:
    """Return firmware and driver of each product of adapter in the group.

    A driver of the kernel itself has the kernel's version, which is compared anyway.
    """
    names = {
        (product := node.get_product(adapter)): product
        if get_text(adapter.product, product) == product
        else f"{adapter.product} ({product})"
        for node in group
        for adapter in node.adapters
    }
    return {
        f"{part} of {name}": partial(_get_versions, product, field)
        for part, field in (("firmware", "firmware"), ("driver", "driver_version"))
        for product, name in names.items()
    }


def _list_pauses(group: Sequence[KnownNode]) -> Properties:
    facts = dict.fromkeys(
        fact for node in group for fact in node.facts if fact.startswith("pause ")
    )
    return {
        f"flow control of {fact.removeprefix('pause ')}": partial(KnownNode.get_fact, name=fact)
        for fact in facts
    }


def _get_versions(product: str, field: str, node: KnownNode) -> str:
    """Return the versions of a product on a node, each once; "" if it has none or gives none."""
    versions = {
        value
        for adapter in node.adapters
        if node.get_product(adapter) == product
        and isinstance(value := getattr(adapter, field), str)
        and value not in ("", node.probe.kernel)
    }
    return "; ".join(sorted(versions))


def _get_mpi(node: KnownNode) -> str:
    """Return ``none`` if a complete survey found no MPI in the PATH of the launcher's shell."""
    inventory = node.inventory
    stacks = {f"{stack.kind} {stack.version}".strip() for stack in inventory.stacks}
    is_complete = (
        isinstance(inventory.node, Node) and inventory.sources and "answer" not in node.facts
    )
    return ", ".join(sorted(stacks)) or ("none" if is_complete else "")


COMPARED: Properties = {
    "kernel": lambda node: node.probe.kernel,
    "system": lambda node: node.get_fact("os release"),
    "MPI": _get_mpi,
    "number of processors": lambda node: str(node.probe.cpu_count) if node.answered else "",
}

LIKENESS = Check(
    "likeness",
    "Like nodes have the same firmware, driver, flow control, kernel and MPI",
    "Differences between nodes make their figures differ, and some versions do not work together.",
    lambda cluster: cluster.peer_groups if len(cluster.nodes) > 1 else (),
    "fewer than two nodes are known",
    examine_separately(
        lambda group: find_differences(
            group, {**_list_versions(group), **_list_pauses(group), **COMPARED}
        )
    ),
    "bring the nodes to one version: the same image, the same packages, the same firmware",
)

#: NTP keeps nodes within milliseconds; a second off means that it does not run.
MAX_OFFSET_S = 1.0

#: munge(7): a credential is good for 300 s.
REFUSED_S = 300.0


def _examine_clocks(_: Cluster, clocks: tuple[Clock, ...]) -> Iterator[Finding]:
    """Compare each clock with the head's, or with most nodes' if the head's is wrong."""
    shift_s = _find_head_offset(clocks)
    owner, reference = ("the head's", "the head") if shift_s == 0 else ("most nodes'", "most nodes")
    if shift_s:
        relation = "behind" if shift_s > 0 else "ahead of"
        summary = f"has a clock that is {duration(abs(shift_s))} {relation} the nodes'"
        evidence = f"most of {len(clocks):,} nodes agree with each other, and not with the head"
        yield make_finding(_choose_severity(shift_s), "the head", summary, evidence)
    for clock in (_shift_clock(clock, shift_s) for clock in clocks):
        offset_s = find_least_offset_s(clock)
        if abs(offset_s) < MAX_OFFSET_S:
            continue
        relation = "ahead of" if offset_s > 0 else "behind"
        yield make_finding(
            _choose_severity(offset_s), clock.node,
            f"has a clock that is at least {duration(abs(offset_s))} {relation} {owner}",
            f"{clock.node}: between {clock.low_s:+.3f} s and {clock.high_s:+.3f} s against"
            f" {reference}",
            nodes=(clock.node,),
        )  # fmt: skip


def _find_head_offset(clocks: tuple[Clock, ...]) -> float:
    """Return the offset from the head's clock on which most nodes agree, 0 without agreement.

    If they agree, the head's clock is wrong.
    """
    wrong = [clock for clock in clocks if abs(find_least_offset_s(clock)) >= MAX_OFFSET_S]
    shift_s = median((clock.low_s + clock.high_s) / 2 for clock in wrong) if wrong else 0.0
    agreeing = [
        clock
        for clock in wrong
        if abs(find_least_offset_s(_shift_clock(clock, shift_s))) < MAX_OFFSET_S
    ]
    return shift_s if len(agreeing) > 1 and 2 * len(agreeing) > len(clocks) else 0.0


def _shift_clock(clock: Clock, shift_s: float) -> Clock:
    return Clock(clock.node, clock.low_s - shift_s, clock.high_s - shift_s)


def find_least_offset_s(clock: Clock) -> float:
    """Return the clock's least possible offset in seconds; positive if it is ahead."""
    if clock.low_s > 0:
        return clock.low_s
    return min(clock.high_s, 0.0)


def _choose_severity(offset_s: float) -> Severity:
    return Severity.FAIL if abs(offset_s) > REFUSED_S else Severity.WARN


CLOCKS = Check(
    "clocks",
    "The nodes' clocks agree with the head's",
    "Batch systems refuse credentials of another time (munge after 5 minutes), files get times from"
    " the future, and logs of two nodes cannot be compared.",
    lambda cluster: cluster.preflight.clocks,
    explain_untried("clocks", "no clock was read"),
    _examine_clocks,
    "let chrony or ntpd run on every node and on the head, with one server for all:"
    " systemctl enable --now chronyd; chronyc makestep",
    "the nodes share one machine's clock",
    ("clocks",),
)
