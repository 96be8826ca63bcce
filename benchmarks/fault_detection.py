"""How often planted faults are found, and how often somebody healthy is named.

Scenarios are drawn with a seed, so that a second run prints the same table. Each goes the way of
a real run: some passes over all pairs, then a recheck of what stands out, as a check plans
it, then who is named. Bandwidth is planted as a bottleneck and latency as a sum of delays, with
noise whose tails are heavy: see planted.py. For a simulator's figures see simulated_detection.py.
"""

import argparse
from collections.abc import Sequence

from benchmarks.detection import Named, Outcome, compared, print_tables, scenarios
from benchmarks.planted import (
    LEAF,
    Fault,
    Scenario,
    leaves,
    measured,
    measured_again,
    names,
)
from benchmarks.tables import heading

from fabricgauge.judge.localise.confirm import confirm
from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.recheck import recheck
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import PairAnalysis

NODES = (32, 128)
#: Passes over all pairs, and how many passes a recheck of one pair is worth.
PASSES, AGAIN = 3, 12


def main(arguments: Sequence[str] | None = None) -> None:
    """Print detection and false-alarm rates, by noise and by element."""
    options = _options(arguments)
    drawn = scenarios(NODES, options.repeats, options.passes)
    outcomes = [outcome(scenario, options.again) for scenario in drawn]
    what = (
        f"{len(outcomes)} scenarios at N = {' and '.join(map(str, NODES))}; {options.passes} "
        f"passes over all pairs, then a recheck, worth {options.again} passes of a pair.\n"
        f"A leaf has {LEAF} nodes. "
        "Noise is one pass's standard deviation, with heavy tails.\n"
        "named: by the right part; otherwise: the right place by another part; healthy: runs that "
        "name somebody else."
    )
    print(heading("Who is at fault: detection and false alarms", what))
    print_tables(outcomes, verbose=options.verbose)


def outcome(scenario: Scenario, again: int) -> Outcome:
    """Measure, analyse, look a second time, and compare what is named."""
    topology = leaves(scenario.nodes)
    found = analyse(measured(scenario), topology)
    if again:
        found = looked_at_again(scenario, found, again)
    planted = [planted_as(fault) for fault in scenario.faults]
    return compared(
        scenario, planted, (one for one in found.findings if one.explanation == "fault")
    )


def looked_at_again(scenario: Scenario, found: PairAnalysis, passes: int) -> PairAnalysis:
    """The analysis as single pairs, measured again, leave it."""
    made = recheck([found])
    if made is None or isinstance(made.meetings, Skipped):
        return found
    (found,) = confirm([found], measured_again(scenario, made.meetings, passes))
    return found


def planted_as(fault: Fault) -> Named:
    if fault.element == "group":
        return "group", (f"leaf{fault.at[0]}",)
    return fault.element, tuple(sorted(names(max(fault.at) + 1)[one] for one in fault.at))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2, help="draws of each combination")
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--again", type=int, default=AGAIN, help="0 for a single look")
    parser.add_argument("--verbose", action="store_true", help="print what went wrong")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
