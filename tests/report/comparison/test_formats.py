import csv
import io
import json
import re

import pytest
from tests.report.comparison import compared
from tests.report.html.test_page import HOSTILE, Page

from fabricgauge.model.comparison import Comparison
from fabricgauge.report.content.comparison import KIND
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

FORMATS = formats_of(KIND)
ALL = (compared.sure(), compared.bare(), compared.nothing())
ODD = "=x|y`[z](w)<b>\x1b[2J\n"


def shown(comparison: Comparison, name: str, **setting: object) -> str:
    return FORMATS[name](comparison, Setting(**{"width": 120, **setting}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("comparison", ALL, ids=lambda one: one.outcome)
def test_every_outcome_has_a_page_in_every_format(comparison: Comparison, name: str) -> None:
    page = shown(comparison, name)
    assert len(page) > 80
    assert page == shown(comparison, name)


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_from_outside_is_obeyed(name: str) -> None:
    page = shown(compared.bare(ODD), name)
    assert "\x1b" not in page
    assert "[2J" in page


def test_the_outcome_is_the_first_word_and_every_change_says_its_direction() -> None:
    page = shown(compared.sure(), "terminal")
    assert page.split()[0] == "REGRESSION"
    assert "−20.0 % (better)" in page
    assert "+50.0 % (worse)" in page
    assert "B becomes the worse one between 8 B and 64 KiB" in page
    assert "4 pairs" in page.split("Not compared")[1]


def test_more_bandwidth_is_better() -> None:
    assert "+0.2 % (better)" in shown(compared.sure(), "terminal")


def test_means_are_called_means_and_have_no_interval_column() -> None:
    page = shown(compared.bare(), "terminal")
    assert "means only: no interval possible" in page
    assert "undecided" not in page
    assert "only in A: 1 MiB" in page
    assert "cut off: ends at 65536 bytes" in page
    assert "\nB: 3 odd lines\n" in page


def test_a_difference_that_rounds_to_nothing_is_neither_better_nor_worse() -> None:
    page = shown(compared.bare(), "terminal")
    assert "(equal)" not in page
    a = compared.latency((1,) * 5, 0)
    from fabricgauge.compare.comparing import compare
    from fabricgauge.model.comparison import Operand

    same = compare(Operand("a", "file", "a"), [a], Operand("a", "file", "a"), [a], 0.05)
    assert "0 % (equal)" in shown(same, "terminal")


def test_colour_changes_no_word() -> None:
    coloured = shown(compared.sure(), "terminal", colour=True)
    assert "\x1b[" in coloured
    bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert bare.split() == shown(compared.sure(), "terminal").split()


def test_csv_is_in_si_units_with_empty_cells_for_what_is_not_known() -> None:
    rows = list(csv.DictReader(io.StringIO(shown(compared.sure(), "csv"))))
    assert [row["message_bytes"] for row in rows[:5]] == ["0", "8", "1024", "65536", "1048576"]
    assert float(rows[0]["a"]) == pytest.approx(1e-5)
    assert float(rows[0]["change"]) == pytest.approx(-0.2)
    assert (rows[0]["standing"], rows[0]["outcome"]) == ("better", "regression")
    bare = list(csv.DictReader(io.StringIO(shown(compared.bare("=1+1"), "csv"))))
    assert (bare[0]["a_low"], bare[0]["change_low"]) == ("", "")
    assert bare[0]["a_source"] == "'=1+1"


def test_json_holds_everything() -> None:
    document = json.loads(shown(compared.sure(), "json"))
    assert (document["format"], document["version"]) == ("fabricgauge-comparison", "1.2")
    assert document["comparison"]["outcome"] == "regression"
    assert len(document["comparison"]["pairs"]) == 2
    assert document["comparison"]["unmatched"][0]["side"] == "B"


def test_markdown_tables_keep_their_columns() -> None:
    page = shown(compared.bare(ODD), "markdown")
    assert "<b>" not in re.sub("`[^`]*`", "", page)
    tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_page_runs_only_its_own_scripts_and_fetches_nothing() -> None:
    page = Page(shown(compared.sure(HOSTILE[0]), "html"))
    assert page.policy.startswith("default-src 'none';")
    assert len(page.scripts) == 2  # data, and what draws them
    for _, attributes in page.tags:
        assert not attributes.keys() & {"src", "srcset", "action", "onload", "onerror"}
        assert (attributes.get("href") or "#").startswith("#")


def test_hostile_names_add_no_tag() -> None:
    tags = [tag for tag, _ in Page(shown(compared.bare(), "html")).tags]
    assert [tag for tag, _ in Page(shown(compared.bare(HOSTILE[1]), "html")).tags] == tags


def test_each_pair_has_both_curves_and_the_change_with_its_band() -> None:
    page = Page(shown(compared.sure(), "html"))
    plots = json.loads(page.scripts[0])["plots"]
    assert [plot["joined"] for plot in plots] == [False, True, True, True, True]  # all, then pairs
    tops = [plot["band"][1] if plot["band"] else None for plot in plots]
    assert tops == [None, None, 5.0, None, 5.0]


def test_without_a_pair_there_is_no_plot_and_no_library() -> None:
    page = shown(compared.nothing(), "html")
    assert len(page) < 60_000
    assert "no such curve" in page
