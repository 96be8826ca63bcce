"""Every benchmark in turn, each with its own table: ``make bench``.

Options are those of the single scripts; a benchmark that cannot run does not end the others.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence

from benchmarks import (
    ablation,
    beside_perftest,
    collectives,
    engine_instructions,
    fault_detection,
    half_round_trip,
    health_time,
    help_time,
    layers,
    log_judging,
    log_reading,
    message_rate,
    odd_nodes,
    osu_medians,
    pair_scale,
    profile_overhead,
    report_scale,
    simple_methods,
    simulated_detection,
    sweep_time,
    varying,
)
from fabricgauge.model.errors import FabricgaugeError

Benchmark = Callable[[Sequence[str]], None]


def main() -> int:
    """Run all; 3 if one could not run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--osu", action="append", default=[], metavar="MPI=DIR")
    parser.add_argument("--imb", action="append", default=[], metavar="MPI=DIR")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no lab is left behind
    suites = [f"--osu={each}" for each in options.osu] + [f"--imb={each}" for each in options.imb]
    benchmarks: tuple[tuple[Benchmark, Sequence[str]], ...] = (
        (help_time.main, ()),
        (log_reading.main, ()),
        (health_time.main, ()),
        (log_judging.main, ()),
        (odd_nodes.main, ()),
        (engine_instructions.main, suites),
        (half_round_trip.main, suites),
        (layers.main, ()),
        (beside_perftest.main, ()),
        (message_rate.main, suites),
        (osu_medians.main, suites),
        (collectives.main, suites),
        (sweep_time.main, suites),
        (pair_scale.main, ()),
        (profile_overhead.main, ()),
        (report_scale.main, ()),
        (fault_detection.main, ()),
        (simple_methods.main, ()),
        (ablation.main, ()),
        (simulated_detection.main, ()),
        (varying.main, ()),
    )
    return max(_attempt(benchmark, arguments) for benchmark, arguments in benchmarks)


def _attempt(benchmark: Benchmark, arguments: Sequence[str]) -> int:
    try:
        benchmark(arguments)
    except FabricgaugeError as error:
        print(f"{benchmark.__module__}: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
