"""A fabric of many nodes in every format; and that hostile names are inert in each."""

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from markdown_it import MarkdownIt
from tests.report import fabric_sample, sample

from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.report.content import run
from fabricgauge.report.formats import formats_of, report
from fabricgauge.report.interface import Setting

FORMATS = formats_of(run.KIND)
NODES = fabric_sample.names(8)
JUDGED = fabric_sample.judged(NODES)
HOSTILE = ("<script>alert(1)</script>", "c2\x1b[2J\n PASS ", "=HYPERLINK(1)", '"; $(x) \\')
SNAPSHOT = Path(__file__).parent / "snapshots" / "terminal-fabric.txt"


def rows(judged: Judged) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(report(judged, "csv"))))


def test_the_page_of_text_is_that_of_the_snapshot() -> None:
    assert report(JUDGED, "terminal") == SNAPSHOT.read_text()


def test_who_is_at_fault_stands_above_everything_else_on_the_page() -> None:
    page = report(JUDGED, "terminal")
    assert page.index("n3, in both directions") < page.index("ceiling")
    broken = (line for line in page.splitlines() if "scontrol update" not in line)
    assert max(map(len, broken)) <= 80


def test_more_nodes_than_fit_are_not_drawn_as_text() -> None:
    assert "rows send" in report(JUDGED, "terminal")
    many = fabric_sample.judged(fabric_sample.names(17))
    assert "rows send" not in report(many, "terminal")


@pytest.mark.parametrize("name", [one for one in FORMATS if one not in ("json", "csv")])
def test_two_nodes_are_told_nothing_about_pairs(name: str) -> None:
    page = report(sample.judged(), name)
    for words in (
        "Nodes and links at fault",
        "All pairs",
        "Collectives",
        "node_effect",
        "imulated: no",
    ):
        assert words not in page


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("terminal", "Simulated: no network carried anything"),
        ("html", '<p class="virtual" role="note">Simulated: no network carried anything'),
        ("json", '"simulated":true'),
        ("markdown", "**Simulated: no network carried anything"),
        ("junit", '<property name="simulated" value="true" />'),
        ("prometheus", 'simulated="true"'),
        ("osu", "# fabricgauge: Simulated: no network carried anything"),
        ("imb", "# fabricgauge: Simulated: no network carried anything"),
    ],
)
def test_a_simulated_run_says_so_in_every_format(name: str, mark: str) -> None:
    assert mark in report(fabric_sample.judged(NODES, simulated=True, crowded=False), name)
    assert mark not in report(fabric_sample.judged(NODES, crowded=False), name)


def test_every_row_of_a_simulated_run_says_so() -> None:
    assert {one["simulated"] for one in rows(fabric_sample.judged(NODES, simulated=True))} == {"1"}
    assert {one["simulated"] for one in rows(JUDGED)} == {"0"}


def test_json_names_the_matrices_and_leaves_the_rounds_out() -> None:
    read = json.loads(report(JUDGED, "json"))
    latency, bandwidth = read["matrices"]
    assert (latency["file"], latency["array"]) == ("matrices.npz", "0-latency-8.values")
    assert (latency["unit"], bandwidth["unit"]) == ("s", "bytes/s")
    assert bandwidth["findings"][0]["names"] == ["n3"]
    assert bandwidth["ranking"][0]["node"] == "n3"
    assert len(latency["ranking"]) == len(NODES)
    assert "values" not in latency
    assert [one["rounds"] for one in read["run"]["launches"]] == [[]]


def test_json_has_a_null_where_groups_never_met() -> None:
    analysis = JUDGED.fabric.analyses[0]
    empty = msgspec.structs.replace(analysis, between=analysis.between * float("nan"))
    fabric = msgspec.structs.replace(JUDGED.fabric, analyses=(empty,))
    read = json.loads(report(msgspec.structs.replace(JUDGED, fabric=fabric), "json"))
    assert read["matrices"][0]["between"] == [[None, None], [None, None]]


def test_json_has_every_case_of_many_ranks_with_its_clock() -> None:
    together = json.loads(report(JUDGED, "json"))["together"]
    assert len(together) == len(JUDGED.run.launches[0].measurements)
    hidden = [one for one in together if one["pattern"] == "iallreduce"]
    assert {one["overlap"] for one in hidden} == {0.83}
    assert {one["clock"] for one in hidden} == {"synchronised"}


def test_csv_has_a_row_per_case_and_per_node_of_each_matrix() -> None:
    found = rows(JUDGED)
    nodes = [one for one in found if one["node"]]
    assert len(nodes) == 2 * len(NODES)
    assert len(found) - len(nodes) == len(JUDGED.run.launches[0].measurements)
    slow = next(one for one in nodes if one["pattern"] == "all_pairs_bandwidth")
    assert slow["node"] == "n3"
    assert float(slow["sending_effect"]) == pytest.approx(-0.75, abs=0.01)
    loaded = next(one for one in found if one["load"] == "incast")
    assert float(loaded["p999_s"]) > float(loaded["time_s"])


def test_prometheus_counts_who_is_named_also_when_nobody_is() -> None:
    labels = 'network="net1",quantity="bandwidth",message_bytes="1048576",part="node"'
    assert f"fabricgauge_named_at_fault{{{labels}}} 1.0\n" in report(JUDGED, "prometheus")
    calm = fabric_sample.judged(NODES, slow=None)
    about = VerdictSubject("sender", "net1", ("n3",))
    doubt = Verdict(
        rule="outliers",
        outcome=Outcome.INCONCLUSIVE,
        subject="net1, n3, sending",
        summary="",
        about=about,
    )
    doubted = msgspec.structs.replace(JUDGED, verdicts=(doubt,))
    for nobody in (calm, doubted):
        assert f"fabricgauge_named_at_fault{{{labels}}} 0.0\n" in report(nobody, "prometheus")


def test_hostile_names_are_inert_in_text_formats() -> None:
    judged = fabric_sample.judged(HOSTILE, slow=1, crowded=False)
    for name in FORMATS:
        assert "\x1b" not in report(judged, name, Setting(width=200))
    text = report(judged, "terminal", Setting(width=200))
    assert "c2\\x1b[2J\\x0a PASS " in text
    ET.fromstring(report(judged, "junit").encode())  # noqa: S314
    assert json.loads(report(judged, "json"))["matrices"][0]["nodes"] == list(HOSTILE)


def test_hostile_names_are_no_formulas_and_no_markup() -> None:
    judged = fabric_sample.judged(HOSTILE, slow=2)
    cells = [cell for row in rows(judged) for cell in row.values() if cell]
    assert not [cell for cell in cells if re.match(r"[=+@]", cell)]
    tokens = MarkdownIt("commonmark").enable("table").parse(report(judged, "markdown"))
    inline = [child for one in tokens for child in one.children or []]
    assert not [one for one in (*tokens, *inline) if "html" in one.type or "link" in one.type]
