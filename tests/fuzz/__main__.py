"""Tries broken inputs on all that reads: ``python -m tests.fuzz --inputs 1000000 --seed 1``.

None may raise, take 5 s of processor time or 1 GiB more memory. Input i of a target and a seed is
always the same one, whatever the number of processes. Exit status 1 if anything is wrong; for each
kind of fault the smallest input that shows it is kept under ``--save``: put it into
tests/fixtures/fuzz once it is mended, where the test suite reads it.
"""

import argparse
import multiprocessing
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from types import FrameType

import msgspec
from tests.fuzz.minimise import smallest
from tests.fuzz.targets import TARGETS

HANG_S = 5.0
MOST_MORE_BYTES = 1 << 30
_BATCH = 200
_SHOWN_EVERY_S = 60.0
_SHRINKING_TRIES = 300


class HangError(BaseException):
    """An input takes much longer than any may; no reader's ``except`` holds it back."""


class Batch(msgspec.Struct):
    """What some inputs of a target came to; ``faults`` holds one input for each kind of fault."""

    target: str
    inputs: int = 0
    slowest_s: float = 0.0
    peak_bytes: int = 0
    faults: dict[str, tuple[int, str]] = {}

    def add(self, other: "Batch") -> None:
        self.inputs += other.inputs
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        self.faults = {**other.faults, **self.faults}


def complaints(target: str, content: bytes) -> list[str]:
    """What is wrong with the reading of one input. Must be called in the main thread."""
    handler = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        return list(TARGETS[target].complaints(content))
    except (Exception, HangError) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        return [f"{type(error).__name__}: {str(error)[:200]} at {place}"]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)


def kind_of(complaint: str) -> str:
    """Complaints that differ in figures only are of one kind."""
    return re.sub(r"\d[\d.e+-]*|'[^']*'", "#", complaint)[:160]


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise HangError(f"still reading after {HANG_S} s of processor time")


def tried(work: tuple[str, int], seed: int, inputs: int = _BATCH, until: float = 1e99) -> Batch:
    """Try the inputs of a target from a number on, none after ``until`` (monotonic clock)."""
    target, first = work
    done = Batch(target)
    for number in range(first, first + inputs):
        if time.monotonic() > until:
            break
        content = TARGETS[target].input_of(seed, number)
        began = time.process_time()
        for complaint in complaints(target, content):
            done.faults.setdefault(kind_of(complaint), (number, complaint))
        done.slowest_s = max(done.slowest_s, time.process_time() - began)
        done.inputs += 1
    done.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # KiB on Linux
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all targets together")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after that long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--save", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args(arguments)
    _say(f"seed {options.seed}, {options.inputs} inputs for {len(options.only)} targets")
    until = time.monotonic() + options.seconds
    work = list(_work(options.only, options.inputs))
    Random(options.seed).shuffle(work)  # noqa: S311 -- whenever it stops, each target had its part
    one = partial(tried, seed=options.seed, until=until)
    with multiprocessing.get_context("fork").Pool(options.processes, _limited) as pool:
        found = _sum(options.only, pool.imap_unordered(one, work))
    for batch in found:
        for number, complaint in batch.faults.values():
            _keep(batch.target, options.seed, number, complaint, options.save)
    return 1 if any(batch.faults for batch in found) else 0


def _work(targets: Sequence[str], inputs: int) -> Iterator[tuple[str, int]]:
    """Batches of all targets, by their shares."""
    whole = sum(TARGETS[name].share for name in targets)
    for name in targets:
        of_it = round(inputs * TARGETS[name].share / whole)
        yield from ((name, first) for first in range(0, of_it, _BATCH))


def _limited() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MORE_BYTES, used + MOST_MORE_BYTES))


def _sum(targets: Sequence[str], batches: Iterator[Batch]) -> list[Batch]:
    """All batches by target, told of now and then and in the end."""
    whole = {name: Batch(name) for name in targets}
    shown = began = time.monotonic()
    for each in batches:
        known = whole[each.target]
        for kind in each.faults.keys() - known.faults.keys():
            _say(f"{each.target}, input {each.faults[kind][0]}: {each.faults[kind][1]}")
        known.add(each)
        if time.monotonic() - shown > _SHOWN_EVERY_S:
            shown = time.monotonic()
            _say(f"{sum(one.inputs for one in whole.values())} inputs in {shown - began:.0f} s")
    for one in whole.values():
        _say(
            f"{one.target}: {one.inputs} inputs, slowest {one.slowest_s * 1e3:.0f} ms of processor"
            f" time, peak {one.peak_bytes / 1e6:.0f} MB, {len(one.faults)} kinds of faults"
        )
    inputs = sum(one.inputs for one in whole.values())
    kinds = sum(len(one.faults) for one in whole.values())
    _say(f"{inputs} inputs in {time.monotonic() - began:.0f} s, {kinds} kinds of faults")
    return [*whole.values()]


def _keep(target: str, seed: int, number: int, complaint: str, folder: Path) -> None:
    kind = kind_of(complaint)

    def shows(content: bytes) -> bool:
        return kind in map(kind_of, complaints(target, content))

    content = smallest(TARGETS[target].input_of(seed, number), shows, _SHRINKING_TRIES)
    path = folder / target / f"{sha256(content).hexdigest()[:12]}.in"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    _say(f"{path}: {complaint}\n    {content[:300]!r}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
