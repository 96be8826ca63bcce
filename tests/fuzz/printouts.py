"""Broken printouts for every parser of printouts/table.py."""

import math
import time
from collections.abc import Callable, Iterator
from functools import cache
from random import Random

import msgspec
from tests.fuzz.mutations import FIXTURES, Lines, broken

from fabricgauge.nodes.discover.printouts.parsing import Parts
from fabricgauge.nodes.discover.printouts.table import PARSERS

#: Fixtures lie under the tool's name but for these.
_FOLDERS = {
    "ip a": "ip_addr", "ip addr": "ip_addr", "ip address": "ip_addr", "ip link": "ip_addr",
    "ip route": "ip_route", "ip rule": "ip_rule", "mpichversion": "mpi_version",
    "mpiexec": "mpi_version", "mpiexec.hydra": "mpi_version", "mpirun": "mpi_version",
    "qcu64e": "qcu", "rdma dev": "rdma", "rdma link": "rdma",
}  # fmt: skip
#: Rows that share a parser are tried once.
NAMES = tuple({parser: name for name, parser in reversed(PARSERS.items())}.values())[::-1]
ARGUMENTS = ("", "-l", "eth0", "-i eth0", "/NIC=1 /INFO", '-i "<b>\n\x1b[31m', "-i", " ")
#: No figure of a machine is larger; see LARGEST_NUMBER in nodes/discover/printouts/parsing.py.
LARGEST = 1e18
#: Processor time that one input may take: a start, and what each of its bytes may cost.
SECONDS, SECONDS_PER_BYTE = 0.25, 20e-6

_decode = msgspec.json.Decoder(Parts).decode


@cache
def recorded(name: str) -> tuple[Lines, ...]:
    """The fixtures of a parser as their lines, in a fixed order."""
    folder = FIXTURES / _FOLDERS.get(name, name)
    return tuple(
        path.read_bytes().splitlines(keepends=True) for path in sorted(folder.glob("*.out"))
    )


@cache
def foreign() -> tuple[Lines, ...]:
    """Those of all parsers, to be mixed in now and then."""
    return tuple(lines for name in NAMES for lines in recorded(name))


def input_of(name: str, seed: int, number: int) -> tuple[str, str]:
    """The text and the argument with that number."""
    random = Random(f"{name}:{seed}:{number}")  # noqa: S311
    source = foreign() if random.random() < 0.05 else recorded(name)
    return broken(random, source).decode("utf-8", "replace"), random.choice(ARGUMENTS)


def complaints(parse: Callable[[str, str], Parts], text: str, argument: str) -> Iterator[str]:
    """What is wrong with the reading of one input."""
    began = time.process_time()
    found = parse(text, argument)
    seconds = time.process_time() - began
    limit = SECONDS + len(text) * SECONDS_PER_BYTE
    if seconds > limit and min(_seconds(parse, text, argument) for _ in range(2)) > limit:
        yield f"slow: {len(text)} characters take {seconds:.2f} s"
    yield from wrong(found)


def _seconds(parse: Callable[[str, str], Parts], text: str, argument: str) -> float:
    began = time.process_time()
    parse(text, argument)
    return time.process_time() - began


def wrong(found: Parts) -> Iterator[str]:
    """Figures that are none, and values that cannot be written and read again."""
    for value in _figures(msgspec.to_builtins(found)):
        if not math.isfinite(value) or not 0 <= value <= LARGEST:
            yield f"a figure of {value}"
    if len(found.troubles) > 21:
        yield f"{len(found.troubles)} troubles"
    try:
        if _decode(msgspec.json.encode(found)) != found:
            yield "the parts change when they are written and read"
    except Exception as error:
        yield f"{type(error).__name__}: {error}"[:300]


def _figures(value: object) -> Iterator[float]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, (list, tuple)):
            left += one
        elif isinstance(one, (int, float)):
            yield one
