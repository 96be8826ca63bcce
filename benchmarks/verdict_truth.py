"""What a check says of labs that are healthy, and of labs with a planted fault: the truth table.

Every case brings up a lab of its own, plants its fault, runs ``fabricgauge check`` as a user would,
and compares what was said with what was planted. A line of JSON is written for each run as soon as
it has ended; a second call with the same file goes on where the first one stopped, and prints the
table of all that is there.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec
from benchmarks.tables import heading, table
from benchmarks.truth_cases import CASES, Case, odd_node

from fabricgauge.nodes import process

PROGRAM = str(Path(sys.executable).with_name("fabricgauge"))
TIMEOUT_S = 900.0
#: A fault that comes in mid-run does so this long after the first launch began.
BEGUN_S = 2.0
#: How long a flapping link stays as it is.
FLAP_S = 3.0

Said = Literal["right", "also others", "nobody", "somebody else", "undecided", "missed", "no end"]
HEADS: tuple[Said, ...] = (
    "right", "also others", "nobody", "somebody else", "undecided", "missed", "no end",
)  # fmt: skip


class Run(msgspec.Struct, frozen=True):
    """What one check said; ``named`` are nodes, and pairs as ``c1-c3``."""

    case: str
    nodes: int
    busy: bool
    repeat: int
    date_utc: str
    exit_status: int
    overall: str
    headline: str
    named: tuple[str, ...]
    wall_s: float
    load: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the results file has not yet, and print the table."""
    options = _options(arguments)
    done = _read(options.results)
    known = {(one.case, one.nodes, one.busy, one.repeat) for one in done}
    cases = [case for case in CASES if not options.case or case.name in options.case]
    for repeat in range(options.repeats):
        for case in cases:
            for nodes in options.nodes:
                done_before = (case.name, nodes, options.busy, repeat) in known
                if done_before or nodes < case.fewest:
                    continue
                run = _run(case, nodes, options.busy, repeat)
                with options.results.open("ab") as file:
                    file.write(msgspec.json.encode(run) + b"\n")
                done.append(run)
                print(_line(run), file=sys.stderr, flush=True)
    print_tables(done)


def print_tables(runs: Sequence[Run]) -> None:
    """Print a row per case and number of nodes, quiet and busy apart."""
    for busy in (False, True):
        some = [run for run in runs if run.busy is busy]
        if not some:
            continue
        days = sorted({run.date_utc[:10] for run in some})
        beside = "two busy loops beside it" if busy else "nothing beside it"
        what = (
            f"{len(some)} checks, {days[0]} to {days[-1]}; {beside}.\n"
            "right: FAIL with the planted node or pair, or PASS where nothing is planted."
        )
        print(heading("What is said of healthy and of planted", what))
        print(table(("planted", "nodes", "checks", *HEADS, "median s"), list(_rows(some))))


def _rows(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    for case in CASES:
        for nodes in sorted({run.nodes for run in runs}):
            some = [run for run in runs if (run.case, run.nodes) == (case.name, nodes)]
            if not some:
                continue
            said = [judged(case, run) for run in some]
            middle = sorted(run.wall_s for run in some)[len(some) // 2]
            counts = (str(said.count(head) or "") for head in HEADS)
            yield (case.name, str(nodes), str(len(some)), *counts, f"{middle:.0f}")


def judged(case: Case, run: Run) -> Said:
    """What a run said, beside what was planted."""
    if run.exit_status not in (0, 1, 3):
        return "no end"
    if not case.plant:
        return _of_healthy(run)
    odd = odd_node(run.nodes)
    if run.exit_status != 1:
        return "undecided" if run.exit_status == 3 else "missed"
    meant = {"-".join(sorted(("c1", odd)))} if case.pair or run.nodes == 2 else {odd}
    if run.nodes == 2:
        meant |= {"c1", "c2"}
    if case.also[1]:
        meant.add(case.also[1])
    if not run.named:
        return "right" if run.nodes == 2 else "nobody"  # of two nodes the network is their pair
    if set(run.named) <= meant:
        return "right"
    touching = any(odd in name.split("-") for name in run.named)
    return "also others" if touching else "somebody else"


def _of_healthy(run: Run) -> Said:
    if run.exit_status == 1:
        return "somebody else" if run.named else "nobody"
    if run.exit_status == 3:
        return "undecided"
    return "right" if run.overall == "PASS" else "missed"


def _run(case: Case, nodes: int, busy: bool, repeat: int) -> Run:
    with (
        _lab(nodes, case.two_networks) as lab,
        tempfile.TemporaryDirectory() as root,
        _loops(2 if busy else 0),
    ):
        odd = odd_node(nodes)
        words, second = (
            [word.replace("{odd}", odd).replace("{ip}", f"10.77.0.1{odd[1]}") for word in fault]
            for fault in (case.plant, case.also[0])
        )
        if words and case.when == "before":
            for fault in filter(None, (words, second)):
                _tell(lab, fault)
        load, started = os.getloadavg()[0], time.monotonic()
        argv = (PROGRAM, "check", "--lab", lab, "--network", "net1", "-q", "-o", root)
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
            if case.when != "before":
                _wait(child, lambda: any(Path(root).glob("*/raw/launch-*")))
                time.sleep(BEGUN_S)
            if case.when == "in the first launch":
                _tell(lab, words)
            elif case.when == "on and off":
                _flap(child, lab, words)
            try:
                _, error = child.communicate(timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)
                _, error = child.communicate()
        return _said(case, nodes, busy, repeat, Path(root), child.returncode, error.decode(),
                     time.monotonic() - started, load)  # fmt: skip


def _said(
    case: Case, nodes: int, busy: bool, repeat: int, root: Path, exit_status: int, error: str,
    wall_s: float, load: float,
) -> Run:  # fmt: skip
    overall, headline, named = "", error.strip()[-200:], set[str]()
    for file in root.glob("*/report.json"):
        report = json.loads(file.read_bytes())
        overall, headline = report["overall"], report["headline"]
        for verdict in report["verdicts"]:
            if verdict["outcome"] == "FAIL":
                named |= _named(verdict["about"])
    return Run(
        case.name, nodes, busy, repeat, datetime.now(timezone.utc).isoformat(timespec="seconds"),
        exit_status, overall, headline, tuple(sorted(named)), wall_s, load,
    )  # fmt: skip


def _named(about: dict[str, object]) -> set[str]:
    names = about["names"]
    assert isinstance(names, list)
    nodes = [str(name).partition(":")[0] for name in names]
    return {"-".join(sorted(nodes))} if len(nodes) == 2 else set(nodes)


def _tell(lab: str, words: Sequence[str]) -> None:
    done = process.run([PROGRAM, "lab", words[0], "--name", lab, *words[1:]], timeout_s=60.0)
    if done.exit_code:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")


def _flap(child: "subprocess.Popen[bytes]", lab: str, words: Sequence[str]) -> None:
    down, up = list(words), ["fault", "link-up", *words[2:]]
    while child.poll() is None:
        for turn in (down, up):
            _tell(lab, turn)
            with suppress(subprocess.TimeoutExpired):
                child.wait(FLAP_S)


def _wait(child: "subprocess.Popen[bytes]", is_so: Callable[[], bool]) -> None:
    while child.poll() is None and not is_so():
        time.sleep(0.05)


@contextmanager
def _lab(nodes: int, two_networks: bool) -> Iterator[str]:
    name = f"truth-{os.getpid()}"
    networks = ("--network", "net1:1G", "--network", "net2:1G") if two_networks else ()
    subprocess.run(
        [PROGRAM, "lab", "up", "--name", name, "--nodes", str(nodes), *networks], check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield name
    finally:
        subprocess.run([PROGRAM, "lab", "down", "--name", name], stdout=subprocess.DEVNULL,
                       check=False)  # fmt: skip


@contextmanager
def _loops(count: int) -> Iterator[None]:
    children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def _read(file: Path) -> list[Run]:
    """What was run before; a last line that was torn is taken away."""
    if not file.exists():
        return []
    text = file.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        file.write_bytes(whole)
    return [msgspec.json.decode(line, type=Run) for line in whole.splitlines()]


def _line(run: Run) -> str:
    (case,) = (one for one in CASES if one.name == run.case)
    return (
        f"{run.case}, {run.nodes} nodes{', busy' if run.busy else ''}: {judged(case, run)}; "
        f"exit {run.exit_status}, {run.wall_s:.0f} s; {run.headline[:160]}"
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("verdict-truth.jsonl"))
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES])
    parser.add_argument("--busy", action="store_true", help="with two busy loops beside it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
