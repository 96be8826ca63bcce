import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.report import sample, sample_verdicts

from fabricgauge.model.absence import Skipped
from fabricgauge.report.formats import report
from fabricgauge.report.interface import Setting

NODES = ("c1", "c2")
FAILED = sample.judged(verdicts=sample_verdicts.failing(NODES))


def test_the_verdict_is_the_first_line() -> None:
    assert report(FAILED, "markdown").splitlines()[0] == "# FAIL"


def test_the_sections_come_in_the_order_of_their_weight() -> None:
    page = report(FAILED, "markdown")
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## What to do",
        "## Verdicts: 1 FAIL, 1 WARN, 4 PASS, 1 SKIPPED",
        "## Ceilings",
        "## Measured: net1; medians, 95 % intervals, share of the ceiling",
    ]


def test_tables_have_as_many_cells_in_every_row() -> None:
    for block in report(FAILED, "markdown").split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in rows}) <= 1


def test_a_step_tells_the_remedy_and_the_likely_cause() -> None:
    page = report(FAILED, "markdown")
    assert "1. **FAIL** **c1 → c2**: compare the negotiated rate on c1 and c2: ethtool eth0" in page
    assert "Likely cause: the link runs at 100 Mb/s instead of 1 Gb/s." in page


def test_bandwidths_stand_beside_their_share_of_the_ceiling() -> None:
    row = next(line for line in report(FAILED, "markdown").splitlines() if "| 1 MiB |" in line)
    assert "117.32 ± 0.5 %, 99.7 %" in row


def test_a_pass_has_no_steps() -> None:
    assert "## What to do" not in report(sample.judged(), "markdown")


def test_a_virtual_run_is_marked() -> None:
    assert "the figures describe the lab" in report(sample.judged(), "markdown")
    assert "the figures describe the lab" not in report(sample.judged(virtual=False), "markdown")


def test_a_run_without_any_result_still_has_a_page() -> None:
    judged = sample.judged(verdicts=())
    run = msgspec.structs.replace(judged.run, launches=(), complete=False)
    bare = msgspec.structs.replace(
        judged, run=run, curves=(), ceilings={"net1": Skipped("its rate is not known")}
    )
    page = report(bare, "markdown")
    assert page.startswith("# SKIPPED")
    assert "| net1 | unknown | its rate is not known |" in page
    assert "launch 1: it was never started" in page


@settings(max_examples=25)
@given(st.text(min_size=1, max_size=40), st.text(max_size=40))
def test_no_name_or_path_becomes_markup(name: str, path: str) -> None:
    names = (name, "c2")
    judged = sample.judged(names, sample_verdicts.failing(names))
    page = report(judged, "markdown", Setting(run_directory=path))
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(page)
    inline = [child for one in tokens for child in one.children or []]
    assert not [one for one in (*tokens, *inline) if "html" in one.type or "link" in one.type]
    setting = Setting(run_directory="runs" if path.strip() else "")
    expected = markdown.parse(report(FAILED, "markdown", setting))
    assert [one.type for one in tokens] == [one.type for one in expected]
