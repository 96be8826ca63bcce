"""Broken answers of nodes: ``python -m tests.fuzz.surveys --inputs 100000 --seed 1``.

Each goes the whole way: sections, merging, likeness beside a sound node, the page of text.
Input i of a seed is always the same one. Exit status 1 if anything is wrong.
"""

import argparse
import sys
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import msgspec
from tests.fuzz.mutations import FIXTURES, Lines, broken

from fabricgauge.app.survey import concluded
from fabricgauge.discover.interface import surveyed_fabric
from fabricgauge.discover.printouts.table import parse_named
from fabricgauge.discover.survey.understand import ANSWER, understood
from fabricgauge.model.inventory import Inventory
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
    return tuple(understood(f"s{n}", {ANSWER: t}, "", parse_named) for n, t in enumerate(texts))


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
    try:
        found = understood("c1", {ANSWER: text}, "", parse_named)
        if _decode(msgspec.json.encode(found)) != found:
            yield "the inventory changes when it is written and read"
        nodes = (found, *sound())
        surveyed = concluded(nodes, surveyed_fabric(nodes, (), virtual=False))
        page = formats_of(KIND)["terminal"](surveyed, Setting(verbose=True))
        if not page.replace("\n", "").isprintable():
            yield "the page holds a sign that a terminal obeys"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        yield f"{type(error).__name__}: {error} at {Path(frame.filename).name}:{frame.lineno}"[:300]


def faults(seed: int, inputs: int) -> dict[int, str]:
    """By input the first complaint."""
    found: dict[int, str] = {}
    for number in range(inputs):
        for complaint in complaints(input_of(seed, number)):
            found.setdefault(number, complaint)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    found = faults(options.seed, options.inputs)
    sys.stdout.write(f"{options.inputs} answers, {len(found)} faults\n")
    for number, complaint in list(found.items())[:10]:
        sys.stdout.write(f"    input {number}: {complaint}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
