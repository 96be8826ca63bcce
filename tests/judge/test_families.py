"""Families of tables: no verdict is better than judging each table alone gives."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fabricgauge.check.conclude import conclude, make_context
from fabricgauge.judge import families
from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.judging import judge_table
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.families import Table, family_of, figures_of, rows_of, with_figures
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import IMPORTED, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import document as doc
from fabricgauge.report.content.families import families as report_families

SIZES = (16, 1024, 16384, 65536, 1 << 20, 1 << 22)
Figures = NDArray[np.float64]


def osu_bw(best_mb_s: float) -> str:
    rows = "".join(f"{size:<10d}{size / (0.15 + size / best_mb_s):>20.2f}\n" for size in SIZES)
    return f"# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"


def osu_latency(best_mb_s: float) -> str:
    rows = "".join(f"{size:<10d}{1.6 + size / best_mb_s:>20.2f}\n" for size in SIZES)
    return f"# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n{rows}"


def osu_tails(best_mb_s: float) -> str:
    heads = "".join(f"       P{percent} Tail Lat(us)" for percent in (50, 99))
    rows = "".join(
        f"{size:<10d}"
        + "".join(f"{f * (1.6 + size / best_mb_s):>20.2f}" for f in (1, 1, 1.5))
        + "\n"
        for size in SIZES
    )
    return f"# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us){heads}\n{rows}"


def osu_rates(best_mb_s: float) -> str:
    rates = [(size, size / (0.15 + size / best_mb_s)) for size in SIZES]
    rows = "".join(f"{size:<10d}{rate:>20.2f}{1e6 * rate / size:>20.2f}\n" for size, rate in rates)
    return (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
        "# [ pairs: 1 ] [ window size: 64 ]\n"
        f"# Size                  MB/s        Messages/s\n{rows}"
    )


class Campaign(NamedTuple):
    """A log of tables of one heading, by the figures of each."""

    table: Table
    figures: Figures

    def run(self, network: str) -> Run:
        """All but the last table as a family, as an import stores them."""
        stated = stated_network(network)
        rows = self.figures
        lines = 1 + 30 * np.arange(len(rows))
        family = family_of(self.table, lines[:-1], rows[:-1])
        launch = Launch(
            number=1, network=stated.name, nodes=(), header=None, placements=(), measurements=(),
            ended=Ended(IMPORTED, 0, "", ("a.out",), 0.0),
            curves=with_figures(self.table, int(lines[-1]), rows[-1].tolist()), families=(family,),
        )  # fmt: skip
        return Run(
            identity="r", started_utc="", command=(), environment={},
            fabric=Fabric((), (), (stated,)),
            plan=Plan("import", Stopping(0, 0), False, (), tool="import"),
            launches=(launch,), complete=True,
        )  # fmt: skip


def campaign(text: str, figures: Callable[[Figures], Figures]) -> Campaign:
    curves = [curve for curve in read([text.encode()], "a.out") if isinstance(curve, SuiteCurve)]
    return Campaign(tuple(curves), figures(np.array(figures_of(tuple(curves)))))


def judge_each(run: Run) -> dict[int, Outcome]:
    """The outcome of every table of a family by itself, by its first line."""
    context, (launch,) = make_context(run, DEFAULTS), run.launches
    outcomes = {}
    for family in launch.families:
        rows = rows_of((family,))
        for row, line in enumerate(rows.lines.tolist()):
            alone = msgspec.structs.replace(launch, curves=rows.table(row), families=())
            part = msgspec.structs.replace(run, launches=(alone,))
            outcomes[line] = judge_table(context, part)[0].outcome
    return outcomes


@settings(max_examples=12)
@given(
    st.sampled_from([osu_bw, osu_latency, osu_tails, osu_rates]),
    st.sampled_from(["edr mtu=4096", "25GbE mtu=9000", "10GbE"]),
    st.sampled_from([12_000.0, 11_800.0, 4_900.0, 3_000.0, 1_150.0]),
    st.sampled_from([0.0005, 0.01, 0.1]),
    st.sampled_from([0.0005, 0.02, 0.2]),
    st.integers(0, 3),
    st.integers(0, 2**32),
)
def test_no_outcome_is_better_than_that_of_each_table_alone(
    suite: Callable[[float], str], network: str, best: float, noise: float, level: float,
    odd: int, seed: int,
) -> None:  # fmt: skip
    chance = np.random.default_rng(seed)

    def spread(figures: Figures) -> Figures:
        shape = chance.normal(0, noise, (30, len(figures)))
        rows = figures * np.exp(shape + chance.normal(0, level, (30, 1)))
        for row in chance.integers(0, 30, odd):
            rows[row, int(chance.integers(len(figures))) :] *= chance.choice([0.2, 0.6, 2.0])
        return rows

    run = campaign(suite(best), spread).run(network)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(families, "FEW", 1)
        judged = conclude(run, DEFAULTS)
    alone = judge_each(run)
    (family,) = judged.families
    assert sum(found.tables for found in family.outcomes) == family.tables == len(alone)
    worst = min(alone.values(), key=lambda outcome: outcome.rank)
    assert family.outcome.rank <= worst.rank
    assert judged.overall.rank <= min(worst.rank, Outcome.PASS.rank)
    for outcome in (Outcome.INVALID, Outcome.FAIL):
        bad = {line for line, is_so in alone.items() if is_so is outcome}
        listed = {line for found in family.outcomes for line in found.lines
                  if found.outcome.rank <= outcome.rank}  # fmt: skip
        assert bad <= listed
        named = {table.line for table in judged.tables if table.outcome.rank <= outcome.rank}
        assert named & bad or not bad


def plant(count: int, changes: dict[int, float]) -> Judged:
    """Judge tables of a sound EDR link; of some rows all figures are multiplied."""

    def spread(figures: Figures) -> Figures:
        chance = np.random.default_rng(5)
        rows = figures * chance.normal(1, 0.002, (count, len(figures)))
        for row, factor in changes.items():
            rows[row] *= factor
        return rows

    return conclude(campaign(osu_bw(12_000.0), spread).run("edr mtu=4096"), DEFAULTS)


def test_one_bad_table_among_forty_thousand_is_named_with_its_line() -> None:
    judged = plant(40_000, {23_456: 0.4, 31_234: 1.2})
    (family,) = judged.families
    assert {found.outcome: (found.tables, found.lines) for found in family.outcomes} == {
        Outcome.INVALID: (1, (937_021,)),
        Outcome.FAIL: (1, (703_681,)),
        Outcome.PASS: (39_997, ()),
    }
    assert judged.overall is Outcome.INVALID
    named = {table.line: (table.outcome, table.rule) for table in judged.tables}
    assert named[703_681] == (Outcome.FAIL, "fraction")
    assert named[937_021] == (Outcome.INVALID, "above-ceiling")
    assert (family.slower, family.faster) == (1, 0)
    assert family.slowest[0].line == 703_681
    assert family.slowest[0].ratio == pytest.approx(0.4, rel=0.02)
    assert family.fastest[0].line == 937_021
    assert len(judged.tables) < 20


def test_a_sound_family_passes_with_median_and_spread() -> None:
    judged = plant(2_000, {})
    (family,) = judged.families
    assert judged.overall is family.outcome is Outcome.PASS
    assert [found.tables for found in family.outcomes] == [1_999]
    (curve,) = family.curves
    last = curve.points[-1]
    assert last.message_bytes == SIZES[-1]
    assert last.median == pytest.approx(11_995e6, rel=0.001)
    assert last.p5 == pytest.approx(last.median * (1 - 1.645 * 0.002), rel=0.001)
    assert last.minimum < last.p5 < last.median < last.p95 < last.maximum
    assert all(line in {table.line for table in judged.tables} for line in family.named)


def test_a_slow_family_fails_and_its_worst_are_named() -> None:
    judged = plant(2_000, dict.fromkeys(range(2_000), 0.4))
    (family,) = judged.families
    assert judged.overall is family.outcome is Outcome.FAIL
    (found,) = family.outcomes
    assert (found.tables, found.rules, len(found.lines)) == (1_999, ("fraction",), 1_000)
    failed = [table for table in judged.tables if table.outcome is Outcome.FAIL]
    assert 50 <= len(failed) < 70


def test_an_extreme_has_the_quantity_and_the_unit_of_its_column() -> None:
    def spread(figures: Figures) -> Figures:
        rows = np.tile(figures, (40, 1))
        rows[7, len(SIZES)] *= 0.5  # messages/s of the first size
        rows[8, 2] *= 0.6
        return rows

    judged = conclude(campaign(osu_rates(11_800.0), spread).run("edr mtu=4096"), DEFAULTS)
    (family,) = judged.families
    rate, bandwidth = family.slowest[:2]
    assert (rate.line, rate.quantity, rate.message_bytes) == (211, "message_rate", SIZES[0])
    assert (bandwidth.line, bandwidth.quantity) == (241, "bandwidth")
    tables = [
        block
        for section in report_families(judged)
        for block in section.blocks
        if isinstance(block, doc.Table)
    ]
    shown = [(row[2], str(row[3]).split()[1]) for row in tables[-1].rows[:2]]
    assert shown == [("16 B, message rate", "messages/s"), ("16 KiB, bandwidth", "MB/s")]


def test_a_run_without_families_is_judged_as_ever() -> None:
    run = campaign(osu_bw(12_000.0), lambda figures: figures[None]).run("edr mtu=4096")
    (launch,) = run.launches
    alone = msgspec.structs.replace(launch, families=())
    judged = conclude(msgspec.structs.replace(run, launches=(alone,)), DEFAULTS)
    assert judged.families == ()
    assert [table.outcome for table in judged.tables] == [Outcome.PASS]
