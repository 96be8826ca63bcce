"""Reads a great many broken logs: ``python -m tests.fuzz.logs --inputs 1000000 --seed 1``.

Input i of a seed is always the same one, whatever the number of processes. Exit status 1
if anything is wrong; the smallest inputs that show it are kept under ``--save``.
"""

import argparse
import multiprocessing
import re
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
from tests.fuzz import judged, oracle
from tests.fuzz.minimise import smallest
from tests.fuzz.mutations import Lines, broken, corpus

_BATCH = 500
_JUDGED_EACH = 500
_TWICE_EACH = 8
_MOST_MEMORY = 4 << 30
_SHOWN_EVERY_S = 60.0


class Batch(msgspec.Struct):
    """What some inputs came to; ``faults`` holds one input for each kind of fault."""

    inputs: int = 0
    bytes: int = 0
    slowest_s: float = 0.0
    slowest_input: int = 0
    peak_bytes: int = 0
    faults: dict[str, tuple[int, str]] = {}

    def add(self, other: "Batch") -> None:
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest_input = other.slowest_s, other.slowest_input
        self.inputs += other.inputs
        self.bytes += other.bytes
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        self.faults = {**other.faults, **self.faults}


@cache
def _recorded() -> tuple[Lines, ...]:
    return corpus()


def input_of(seed: int, number: int) -> bytes:
    """The input with that number."""
    return broken(Random(f"{seed}:{number}"), _recorded())  # noqa: S311


def of_reading(content: bytes, number: int) -> list[str]:
    """What is wrong with the reading of one input."""
    return oracle.complaints(content, again=number % _TWICE_EACH == 0)


def of_judging(content: bytes, number: int) -> list[str]:
    """What is wrong with what follows; that takes long and is done for some inputs only."""
    if number % _JUDGED_EACH:
        return []
    return list(judged.complaints(oracle.reading(content), Random(number)))  # noqa: S311


def kind_of(complaint: str) -> str:
    """Complaints that differ in figures only are of one kind."""
    return re.sub(r"\d[\d.e+-]*|'[^']*'", "#", complaint)[:160]


def tried(first: int, seed: int, inputs: int = _BATCH, until: float = float("inf")) -> Batch:
    """Try the inputs from ``first`` on, none after ``until`` (of the monotonic clock)."""
    done = Batch()
    for number in range(first, first + inputs):
        if time.monotonic() > until:
            break
        content = input_of(seed, number)
        began = time.process_time()
        wrong = of_reading(content, number)
        seconds = time.process_time() - began
        for complaint in wrong or of_judging(content, number):
            done.faults.setdefault(kind_of(complaint), (number, complaint))
        done.add(Batch(1, len(content), seconds, number))
    done.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # KiB on Linux
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after that long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--save", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args(arguments)
    until = time.monotonic() + options.seconds
    work = partial(tried, seed=options.seed, until=until)
    with multiprocessing.get_context("fork").Pool(options.processes, _limited) as pool:
        whole = _sum(pool.imap_unordered(work, range(0, options.inputs, _BATCH)))
    for number, complaint in whole.faults.values():
        _keep(options.seed, number, complaint, options.save)
    return 1 if whole.faults else 0


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


def _sum(batches: Iterable[Batch]) -> Batch:
    """All batches together, told of now and then and in the end."""
    whole, began = Batch(), time.monotonic()
    shown = began
    for each in batches:
        for kind in each.faults.keys() - whole.faults.keys():
            _say(f"input {each.faults[kind][0]}: {each.faults[kind][1]}")
        whole.add(each)
        if time.monotonic() - shown > _SHOWN_EVERY_S:
            shown = time.monotonic()
            _say(_figures(whole, shown - began))
    _say(_figures(whole, time.monotonic() - began))
    return whole


def _figures(whole: Batch, seconds: float) -> str:
    return (
        f"{whole.inputs} inputs, {whole.bytes / 1e6:.1f} MB in {seconds:.0f} s:"
        f" {whole.inputs / seconds:.0f} inputs/s; slowest reading {whole.slowest_s * 1e3:.0f} ms"
        f" of processor time (input {whole.slowest_input}); peak of a process"
        f" {whole.peak_bytes / 1e6:.0f} MB; {len(whole.faults)} kinds of faults"
    )


def _keep(seed: int, number: int, complaint: str, folder: Path) -> None:
    kind = kind_of(complaint)

    def shows(content: bytes) -> bool:
        return kind in map(kind_of, of_reading(content, number) or of_judging(content, number))

    content = smallest(input_of(seed, number), shows)
    path = folder / f"{sha256(content).hexdigest()[:12]}.log"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    _say(f"{path}: {complaint}\n    {content[:300]!r}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
