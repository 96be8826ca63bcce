"""Do like nodes have the same firmware, driver, kernel and MPI?"""

from collections.abc import Callable, Iterator

from fabricgauge.doctor.places import Seen, like, nodes, unusual
from fabricgauge.doctor.wording import listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Node
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "likeness"
TITLE = "Like nodes have the same firmware, driver, kernel and MPI"
WHY = (
    "What differs between nodes makes their figures differ, and some versions do not work together."
)


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if len(nodes(preflight)) < 2:
        return Skipped("fewer than two nodes answered")
    return tuple(
        found
        for group in like(preflight)
        for name, value in COMPARED.items()
        for found in _look(group, name, value)
    )


def _look(group: tuple[Seen, ...], name: str, value: Callable[[Seen], str]) -> Iterator[Finding]:
    values = {seen.name: text for seen in group if (text := value(seen))}
    common, odd = unusual(values)
    for node, text in odd.items():
        if isinstance(common, str):
            yield _finding(name, node, f"{name} is {text}, like nodes have {common}", values)
    if isinstance(common, Skipped) and len(set(values.values())) > 1:
        told = listed(sorted(set(values.values())))
        for node in values:
            yield _finding(name, node, f"{name} differs between like nodes: {told}", values)


def _finding(name: str, node: str, what: str, values: dict[str, str]) -> Finding:
    return Finding(
        ID, Severity.WARN, node, what, (f"{node}: {name} {values[node]}",), WHY,
        "bring the nodes to one version: the same image, the same packages, the same firmware",
        (node,),
    )  # fmt: skip


def _firmware(seen: Seen) -> str:
    return _of_adapters(seen, "firmware")


def _driver(seen: Seen) -> str:
    return _of_adapters(seen, "driver_version")


def _of_adapters(seen: Seen, field: str) -> str:
    """Each version once, with the adapter's name: where it hangs may differ.

    A driver of the kernel itself has the kernel's version, which is compared anyway.
    """
    found = {
        f"{seen.product(one)} {value}"
        for one in seen.adapters
        if isinstance(value := getattr(one, field), str) and value not in ("", seen.node.kernel)
    }
    return "; ".join(sorted(found))


def _mpi(seen: Seen) -> str:
    """``none`` where a whole survey found none in the PATH of the launcher's shell."""
    inventory = seen.inventory
    stacks = {f"{one.kind} {one.version}".strip() for one in inventory.stacks}
    surveyed = isinstance(inventory.node, Node) and inventory.sources and "answer" not in seen.facts
    return ", ".join(sorted(stacks)) or ("none" if surveyed else "")


#: What is compared, and where it is found; an empty text is not known.
COMPARED: dict[str, Callable[[Seen], str]] = {
    "firmware": _firmware,
    "driver": _driver,
    "kernel": lambda seen: seen.node.kernel,
    "system": lambda seen: seen.facts.get("os release", ""),
    "MPI": _mpi,
    "number of processors": lambda seen: str(seen.node.cpu_count),
}
