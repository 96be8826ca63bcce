"""The recorded topology files, and an expansion of node sets that needs no other stage."""

import re
from pathlib import Path

from fabricgauge.logs.readers.topology import topology_of
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Topology

FIXTURES = Path(__file__).parents[3] / "fixtures" / "topology"
ALL = tuple(sorted(path.stem for path in FIXTURES.glob("*.out")))


def expand(text: str) -> tuple[str, ...]:
    """Enough of a node set's syntax for the fixtures: one bracket in a name, zeros kept."""
    names: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        stem, _, ranges = part.strip().removesuffix("]").partition("[")
        if not re.fullmatch(r"[\w.-]+", stem):
            raise UsageError(f"{part!r} is no node set")
        for one in ranges.split(",") if ranges else ():
            first, _, last = one.partition("-")
            numbers = range(int(first), int(last or first) + 1)
            names += [f"{stem}{number:0{len(first)}}" for number in numbers]
        names += [stem] * (not ranges)
    return tuple(dict.fromkeys(names))


def text_of(name: str) -> str:
    return (FIXTURES / f"{name}.out").read_text("utf-8")


def read(text: str) -> Topology:
    return topology_of(text, "fabric.txt", expand)
