"""Broken printouts for every parser: ``python -m tests.fuzz.printouts --inputs 100000 --seed 1``.

Input i of a seed and a parser is always the same one. One process; exit status 1 if anything
is wrong. ``--only`` chooses parsers, by their names in printouts/table.py.
"""

import argparse
import math
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import msgspec
from tests.fuzz.mutations import FIXTURES, Lines, broken

from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.printouts.table import PARSERS

#: Fixtures lie under the tool's name but for these.
_FOLDERS = {
    "ip route": "ip_route", "ip rule": "ip_rule", "mpichversion": "mpi_version",
    "mpiexec": "mpi_version", "mpiexec.hydra": "mpi_version", "mpirun": "mpi_version",
    "qcu64e": "qcu", "rdma dev": "rdma", "rdma link": "rdma",
}  # fmt: skip
#: Rows that share a parser are tried once.
NAMES = tuple({parser: name for name, parser in reversed(PARSERS.items())}.values())[::-1]
ARGUMENTS = ("", "-l", "eth0", "-i eth0", "/NIC=1 /INFO", '-i "<b>\n\x1b[31m', "-i", " ")
#: No figure of a machine is larger; see LARGEST_NUMBER in discover/printouts/lines.py.
LARGEST = 1e18
#: Processor time that one input may take: a start, and what each of its bytes may cost.
SECONDS, SECONDS_PER_BYTE = 0.25, 20e-6

_decode = msgspec.json.Decoder(Parts).decode


class Tried(msgspec.Struct):
    """What the inputs of one parser came to; ``faults`` by input."""

    inputs: int = 0
    bytes: int = 0
    slowest_s: float = 0.0
    faults: dict[int, str] = {}


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
    try:
        found = parse(text, argument)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        yield f"{type(error).__name__}: {error} at {Path(frame.filename).name}:{frame.lineno}"[:300]
        return
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


def tried(name: str, seed: int, inputs: int) -> Tried:
    """Try that many inputs on one parser."""
    done = Tried()
    parse = PARSERS[name]
    for number in range(inputs):
        text, argument = input_of(name, seed, number)
        began = time.process_time()
        for complaint in complaints(parse, text, argument):
            done.faults.setdefault(number, complaint)
        done.slowest_s = max(done.slowest_s, time.process_time() - began)
        done.inputs += 1
        done.bytes += len(text)
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="for each parser")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES)
    options = parser.parse_args(arguments)
    faults = 0
    for name in options.only:
        began = time.process_time()
        done = tried(name, options.seed, options.inputs)
        faults += len(done.faults)
        _say(name, done, time.process_time() - began)
    return 1 if faults else 0


def _say(name: str, done: Tried, seconds: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # KiB on Linux
    sys.stdout.write(
        f"{name}: {done.inputs} inputs, {done.bytes / 1e6:.1f} MB in {seconds:.0f} s of processor"
        f" time; slowest {done.slowest_s * 1e3:.0f} ms; peak {peak / 1e6:.0f} MB;"
        f" {len(done.faults)} faults\n"
    )
    for number, complaint in list(done.faults.items())[:5]:
        sys.stdout.write(f"    input {number}: {complaint}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
