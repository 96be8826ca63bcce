"""Broken answers of nodes.

Each goes the whole way: sections, merging, likeness beside a sound node, the page of text.
"""

from collections.abc import Iterator
from functools import cache
from random import Random

import msgspec
from tests.fuzz.mutations import FIXTURES, Lines, broken

from fabricgauge.doctor.survey import conclude_survey
from fabricgauge.model.inventory import Inventory
from fabricgauge.nodes.discover.interface import build_surveyed_fabric
from fabricgauge.nodes.discover.printouts.table import parse_named
from fabricgauge.nodes.discover.survey.understand import ANSWER, build_inventory
from fabricgauge.report.content.discovery import KIND
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

_decode = msgspec.json.Decoder(Inventory).decode


@cache
def recorded() -> tuple[Lines, ...]:
    paths = sorted((FIXTURES / "survey").glob("*.out"))
    return tuple(path.read_bytes().splitlines(keepends=True) for path in paths)


@cache
def sound() -> tuple[Inventory, ...]:
    texts = (b"".join(lines).decode() for lines in recorded())
    return tuple(
        build_inventory(f"s{n}", {ANSWER: t}, "", parse_named) for n, t in enumerate(texts)
    )


def input_of(seed: int, number: int) -> str:
    """A broken answer whose quick part is left whole three times of four."""
    random = Random(f"survey:{seed}:{number}")  # noqa: S311
    source = random.choice(recorded())
    mark = source.index(b"== end\n") + 1
    if random.random() < 0.75:
        text = b"".join(source[:mark]) + broken(random, (source[mark:],))
    else:
        text = broken(random, (source,))
    return text.decode("utf-8", "replace")


def complaints(text: str) -> Iterator[str]:
    """What is wrong with the reading of one answer."""
    found = build_inventory("c1", {ANSWER: text}, "", parse_named)
    if _decode(msgspec.json.encode(found)) != found:
        yield "the inventory changes when it is written and read"
    nodes = (found, *sound())
    surveyed = conclude_survey(nodes, build_surveyed_fabric(nodes, (), virtual=False))
    page = formats_of(KIND)["terminal"](surveyed, Setting(verbose=True))
    if not page.replace("\n", "").isprintable():
        yield "the page holds a sign that a terminal obeys"
