"""How often faults planted in simulated clusters are found by `check --sim`, from end to end.

SimGrid simulates the cluster, the engine runs in it unchanged, and what counts is what the report
names. Nothing is known to the analysis but what a check knows. Noise is that of one message; a pair
sends some dozens of them. For many more scenarios without a simulator see fault_detection.py.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from benchmarks.detection import EFFECTS, NOISES, Draw, Named, Outcome, compared, print_tables
from benchmarks.planted import Element, Fault, Scenario
from benchmarks.tables import heading

from fabricgauge.model.pairs import PairFinding, Quantity

#: Of the larger cluster fewer are drawn: one takes half a minute of a processor.
NOISES_OF = {32: NOISES, 128: NOISES[2:]}
EFFECTS_OF: dict[int, dict[Quantity, tuple[float, ...]]] = {
    32: EFFECTS,
    128: {"bandwidth": (0.10, 0.50), "latency": (0.05, 0.25)},
}
#: What the simulator can plant. A pair's latency is not among it.
ELEMENTS: dict[Quantity, tuple[Element, ...]] = {
    "bandwidth": ("node", "sender", "receiver", "pair", "group"),
    "latency": ("node",),
}
HEALTHY = 2
#: So many more of the smaller cluster have no fault, at the two largest noises in turns.
MORE_HEALTHY = {32: 16, 128: 0}
#: Between two nodes of a star: what the shares of latency refer to.
TYPICAL_S = 0.946e-6
#: Nodes of a leaf of the fat trees.
LEAF_OF = {32: 8, 128: 16}
PROGRAM = Path(sys.executable).with_name("fabricgauge")
PATTERNS = "all_pairs_latency,all_pairs_bandwidth"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print detection and false-alarm rates, by noise and by element."""
    options = _options(arguments)
    drawn = [one for count in options.nodes for one in _scenarios(count)]
    known = _known(options.keep)
    left = [one for one in drawn if one not in known][: options.most]
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(outcome, left):
            known[found.scenario] = found
            if options.keep:
                with options.keep.open("ab") as file:
                    file.write(msgspec.json.encode(found) + b"\n")
    outcomes = [known[one] for one in drawn if one in known]
    what = (
        f"{len(outcomes)} runs of `check --sim`: one launch, and the recheck that it plans.\n"
        "Groups are leaves of a fat tree 2:1 (8 nodes of 32, 16 of 128); all else is a star.\n"
        "named: by the right part; otherwise: the right place by another part; healthy: runs that "
        "name somebody else."
    )
    print(heading("Who is at fault in simulated clusters", what))
    print_tables(outcomes, verbose=options.verbose)


def _known(file: Path | None) -> dict[Scenario, Outcome]:
    """What an earlier start kept."""
    lines = file.read_bytes().splitlines() if file is not None and file.exists() else []
    outcomes = (msgspec.json.decode(line, type=Outcome) for line in lines)
    return {one.scenario: one for one in outcomes}


def _scenarios(count: int) -> Iterator[Scenario]:
    seed = 1000 * count
    for quantity, elements in ELEMENTS.items():
        draw = Draw(quantity, count, LEAF_OF[count], elements, EFFECTS_OF[count][quantity], HEALTHY)
        for noise in NOISES_OF[count]:
            for faults in draw.plans(1, seed):
                seed += 1
                yield Scenario(seed, count, quantity, noise, 1, faults)
    for number in range(MORE_HEALTHY[count]):
        yield Scenario(seed + 1 + number, count, "bandwidth", NOISES[-1 - number % 2], 1, ())


def outcome(scenario: Scenario) -> Outcome:
    """One check, and whether its report names what was planted."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word for fault in scenario.faults for word in _planted(fault, scenario)]
        groups = any(fault.element == "group" for fault in scenario.faults)
        argv = [
            str(PROGRAM), "check", "--output", folder,
            "--sim", f"{'fat-tree' if groups else 'star'}:{scenario.nodes}",
            "--sim-seed", str(scenario.seed), "--sim-noise", repr(scenario.noise),
            "--patterns", PATTERNS, *(part for word in words for part in ("--sim-fault", word)),
        ]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, timeout=1800, check=False)
        reports = list(Path(folder).glob("*/report.json"))
        if not reports:
            raise RuntimeError(f"{scenario}: {done.stderr[-2000:]}")
        named = list(_findings(json.loads(reports[0].read_text("utf-8"))))
    found = compared(scenario, [_name(fault) for fault in scenario.faults], named)
    print(".", end="", file=sys.stderr, flush=True)
    return found


def _findings(report: dict[str, list[dict[str, object]]]) -> Iterator[PairFinding]:
    """Those that a verdict fails for: a suspicion that was not confirmed names nobody."""
    failed = [
        str(one["subject"])
        for one in report["verdicts"]
        if one["rule"] == "outliers" and one["outcome"] == "FAIL"
    ]
    for matrix in report["matrices"]:
        for one in msgspec.convert(matrix["findings"], tuple[PairFinding, ...]):
            told = any(all(name in subject for name in one.names) for subject in failed)
            if one.explanation == "fault" and told:
                yield one


def _planted(fault: Fault, scenario: Scenario) -> Iterator[str]:
    """The words of `--sim-fault`."""
    first, *others = (f"node-{at}" for at in fault.at)
    left = repr(1.0 - fault.effect)
    if scenario.quantity == "latency":
        yield f"latency {first} +{fault.effect * TYPICAL_S * 1e9:.1f}ns"
    elif fault.element == "pair":
        yield f"pair {first} {others[0]} {left}"
        yield f"pair {others[0]} {first} {left}"
    elif fault.element == "group":
        yield f"uplink {_name(fault)[1][0]} {left}"
    else:
        yield f"{_RATES[fault.element]} {first} {left}"


_RATES = {"node": "rate", "sender": "rate-out", "receiver": "rate-in"}


def _name(fault: Fault) -> Named:
    if fault.element == "group":
        return "group", (f"leaf-{fault.at[0]}",)
    return fault.element, tuple(sorted(f"node-{at}" for at in fault.at))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[32, 128], choices=(32, 128))
    parser.add_argument("--most", type=int, help="simulate only so many")
    parser.add_argument("--keep", type=Path, help="a file of outcomes: what it has is not repeated")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--verbose", action="store_true", help="print what went wrong")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
