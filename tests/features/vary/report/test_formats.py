"""Every format of a comparison by measuring; names in it are inert."""

import csv
import io
import json
from itertools import chain
from math import nan

import msgspec
import pytest

from fabricgauge.features.vary import content
from fabricgauge.features.vary.content import KIND, describe_effect
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.varied import CurveEffect, Design, Effect, Factor, Layer, Varied
from fabricgauge.model.words.figures import signed
from fabricgauge.report import document as doc
from fabricgauge.report.content.changes import plot_sweeps
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

FORMATS = formats_of(KIND)
HOSTILE = "<script>alert(1)</script>[bold]\x1b[31m"
NAN = float("nan")


def effect(size: int | None, change: float, half: float = 0.01) -> Effect:
    return Effect(size, change, change - half, change + half, 0.004, 10)


SIZES = (effect(8, -0.05), effect(1024, 0.002), effect(1 << 20, 0.08))
CURVE = CurveEffect(
    "mpi", "openmpi", "mpich", "net1: half round trip, c1 → c2", "time", effect(None, 0.02), SIZES
)
DESIGN = Design(
    (Factor("mpi", ("mpich", "openmpi")),), (("mpich",), ("openmpi",)), ("a", "b"),
    ((0, 1),) * 10, 1,
)  # fmt: skip


def varied(**changes: object) -> Varied:
    plain = Varied(DESIGN, 0.98, 0.0, "worse", (CURVE,), (("mpi", 0.02),), ("a note",))
    return msgspec.structs.replace(plain, **changes)


def test_the_terminal_tells_the_finding_the_effects_and_the_crossover() -> None:
    page = FORMATS["terminal"](varied(), Setting(width=120))
    assert "WORSE" in page
    assert "mpi openmpi: 2.0 % slower than mpich" in page
    assert "5.0 % faster" in page
    assert "8.0 % slower" in page
    assert "crossover between 8 B and 1 MiB" in page
    assert "a note" in page


def test_worse_is_told_with_what_is_worse_and_who_is_the_baseline() -> None:
    """A level that is faster over the whole curve, and slower at one size, is worse there."""
    faster = msgspec.structs.replace(CURVE, whole=effect(None, -0.02))
    page = " ".join(FORMATS["terminal"](varied(effects=(faster,)), Setting(width=120)).split())
    headline = page.partition("Effects")[0]
    assert "mpi openmpi: 8.0 % slower than mpich" in headline
    assert "at 1 MiB" in headline
    assert "a level of mpi is worse than the first one" in headline
    assert "2.0 % faster" not in headline


def test_of_rates_less_is_worse_and_within_the_tolerance_is_not() -> None:
    rates = msgspec.structs.replace(
        CURVE, quantity="bandwidth", whole=effect(None, 0.03), sizes=(effect(8, -0.2),)
    )
    assert [one.change for one in rates.find_worse_effects(0.1)] == [-0.2]
    assert rates.find_worse_effects(0.2) == ()


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.12, "+12.0 %"), (-0.0003, "−0.03 %"), (0.0, "0 %"), (2e-7, "+0.00002 %"), (nan, "–")],
)
def test_a_change_next_to_nothing_keeps_its_sign_and_size(share: float, said: str) -> None:
    assert signed(share) == said


def test_less_of_a_rate_is_less_and_of_a_time_faster() -> None:
    assert describe_effect(effect(8, -0.05), "bandwidth") == "5.0 % less"
    assert describe_effect(effect(8, 0.05), "bandwidth") == "5.0 % more"
    assert describe_effect(effect(8, -0.05), "time") == "5.0 % faster"


def test_csv_and_json_hold_every_effect() -> None:
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](varied(), Setting()))))
    assert [row["message_bytes"] for row in rows] == ["", "8", "1024", str(1 << 20)]
    assert [row["clear"] for row in rows] == ["1", "1", "0", "1"]
    document = json.loads(FORMATS["json"](varied(), Setting()))
    assert document["format"] == "fabricgauge-varied"
    assert document["varied"]["effects"][0]["whole"]["change"] == 0.02


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_not_known_is_not_made_up(name: str) -> None:
    unknown = Effect(8, NAN, NAN, NAN, NAN, 3)
    empty = msgspec.structs.replace(CURVE, whole=unknown, sizes=(unknown,))
    page = FORMATS[name](varied(effects=(empty,), finding="undecided"), Setting())
    assert name == "html" or "nan" not in page.lower()  # its scripts have words of their own
    assert FORMATS[name](varied(effects=(), finding="undecided", ranking=()), Setting())


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_names_are_inert(name: str) -> None:
    factor = Factor(f"env:{HOSTILE}", (HOSTILE, "b"))
    design = msgspec.structs.replace(DESIGN, factors=(factor,))
    curve = msgspec.structs.replace(CURVE, title=HOSTILE, level=HOSTILE, factor=HOSTILE)
    page = FORMATS[name](varied(design=design, effects=(curve,), notes=(HOSTILE,)), Setting())
    assert "\x1b" not in page
    if name == "html":
        assert "<script>alert" not in page
    if name == "terminal":
        assert "[bold]" in page


def swept(levels: int) -> Varied:
    """A factor with so many values, each 2 % more than the one before it."""
    factor = Factor("env:UCX_RNDV_THRESH", tuple(f"{8 << place}K" for place in range(levels)))
    design = msgspec.structs.replace(
        DESIGN, factors=(factor,), arms=tuple((level,) for level in factor.levels)
    )
    effects = tuple(
        msgspec.structs.replace(
            CURVE, factor=factor.name, level=level, base=factor.levels[0],
            whole=Effect(None, 0.02 * place, 0.02 * place - 0.005, 0.02 * place + 0.005, 0.01, 12),
        )
        for place, level in enumerate(factor.levels) if place
    )  # fmt: skip
    return varied(design=design, effects=effects)


def test_a_factor_of_many_values_is_drawn_over_its_values() -> None:
    (picture,) = plot_sweeps(swept(5))
    assert list(picture.ticks.values()) == ["8K", "16K", "32K", "64K", "128K"]
    assert picture.series[0].column("x") == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert picture.series[0].column("y") == pytest.approx([0.0, 2.0, 4.0, 6.0, 8.0])
    assert [one.label for one in picture.series] == ["all sizes", "8 B", "1 KiB"]
    assert 'id="sweeps"' in FORMATS["html"](swept(5), Setting())


def test_two_values_are_no_sweep() -> None:
    assert plot_sweeps(swept(2)) == ()
    assert 'id="sweeps"' not in FORMATS["html"](swept(2), Setting())


def test_a_value_of_unknown_effect_is_left_out_of_a_sweep() -> None:
    found = swept(3)
    unknown = Effect(None, 0.5, NAN, NAN, NAN, 2)
    first = msgspec.structs.replace(found.effects[0], whole=unknown)
    (picture,) = plot_sweeps(msgspec.structs.replace(found, effects=(first, *found.effects[1:])))
    assert picture.series[0].column("x") == [0.0, 2.0]


def layer(level: str, size: int, time_s: float, added_s: float | None) -> Layer:
    def around(value: float) -> Estimate:
        return Estimate(value, 0.9 * value, 1.1 * value, 0.96, 9, 9)

    added = None if added_s is None else around(added_s)
    return Layer("half round trip", "time", size, level, around(time_s), added)


def test_layers_are_told_with_what_each_adds_to_the_one_before() -> None:
    ledger = tuple(
        layer(*one)
        for one in (
            ("sockets", 8, 10e-6, None), (HOSTILE, 8, 12e-6, 2e-6), ("mpi", 8, 11e-6, -1e-6),
            ("sockets", 64, 11e-6, None), (HOSTILE, 64, 13e-6, 2e-6), ("mpi", 64, 12e-6, -1e-6),
        )
    )  # fmt: skip
    factors = (Factor("transport", ("sockets", HOSTILE, "mpi")),)
    made = varied(layers=ledger, design=msgspec.structs.replace(DESIGN, factors=factors))
    terminal = FORMATS["terminal"](made, Setting(width=120))
    assert "Cost of each layer" in terminal
    assert "12 µs" in terminal
    assert "+2 µs" in terminal
    assert "−1 µs" in terminal
    assert "\x1b[31m" not in terminal
    page = FORMATS["html"](made, Setting())
    assert "Cost of each layer" in page
    assert "<script>alert(1)" not in page
    assert "Cost of each layer" not in FORMATS["html"](varied(), Setting())


def test_what_small_messages_get_is_seen_beside_what_large_ones_get() -> None:
    """A layer adds its share of the one before it; points of one size stand side by side."""
    ledger = (
        layer("sockets", 8, 4e-6, None), layer("mpi", 8, 5e-6, 1e-6),
        layer("sockets", 4096, 400e-6, None), layer("mpi", 4096, 300e-6, -100e-6),
    )  # fmt: skip
    each, adds = content._pictures(ledger, ("mpi", "sockets"))
    assert [one.label for one in each.series] == ["mpi", "sockets"]
    assert each.series[1].column("y") == pytest.approx([4.0, 400.0])
    (mpi,) = adds.series
    assert adds.y_label == "%"
    assert mpi.column("y") == pytest.approx([25.0, -25.0])
    assert mpi.column("median") == ["+1 µs", "−100 µs"]
    (left, right) = (each.series[n].column("x")[0] for n in (1, 0))
    assert left < 3.0 < right
    assert adds.span
    assert adds.span[1] == -adds.span[0] == pytest.approx(1.1 * 27.5)


def test_two_factors_with_levels_of_one_name_have_plots_of_their_own() -> None:
    """A doubles every time, B changes nothing: their means are not mixed."""
    sizes = {factor: tuple(effect(1 << place, share) for place in range(8))
             for factor, share in (("env:A", 1.0), ("env:B", 0.0))}  # fmt: skip
    effects = tuple(
        msgspec.structs.replace(CURVE, factor=factor, level="1", base="0", sizes=of_factor)
        for factor, of_factor in sizes.items()
    )
    report = KIND.document(varied(effects=effects), Setting())
    section = next(section for section in report.sections if section.ident == "metrics")
    tables = [block for block in section.blocks if isinstance(block, doc.Table)]
    assert [table.rows[-1][1:3] for table in tables] == [("8", "−100 %"), ("8", "0 %")]
    plots = [block for block in section.blocks if isinstance(block, doc.Plots)]
    titles = [plot.picture.title for plot in chain.from_iterable(each.plots for each in plots)]
    assert ["env:A" in title for title in titles] == [True, False]
    assert ["env:B" in title for title in titles] == [False, True]
    ranking = (("env:A", 1.0), ("env:B", 0.0))
    page = FORMATS["terminal"](varied(effects=effects, ranking=ranking), Setting(width=160))
    rows = page.partition("Effects")[2].partition("all sizes")[0].splitlines()
    assert [sum(factor in row and "…" in row for row in rows) for factor in sizes] == [1, 1]
