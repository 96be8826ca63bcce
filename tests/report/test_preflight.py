"""What a preflight came to, as a reader sees it."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.report.html.test_page import Page

from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Checked, Command, Diagnosis, Finding, Severity
from fabricgauge.report.content.preflight import KIND, conclusion
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

FORMATS = formats_of(KIND)
SNAPSHOTS = Path(__file__).parent / "snapshots"

MTU = Finding(
    "mtu", Severity.FAIL, "c2:eth0", "has MTU 1400, net1 has 1500 elsewhere",
    ("c2:eth0 has MTU 1400", "c1:eth0 has MTU 1500", "therefore counters: c2:eth0: drops frames"),
    "A packet that is larger than the next hop takes is lost or cut: large messages hang or crawl,"
    " small ones pass.",
    "set the network's MTU, here and where the interface is configured at each start",
    ("c2",), "net1", (Command("c2", ("ip", "link", "set", "dev", "eth0", "mtu", "1500")),),
)  # fmt: skip
NOTE = Finding("names", Severity.NOTE, "c3", "has another /etc/hosts", ("c3: 1 2",), "w.", "mend")
WARN = Finding("limits", Severity.WARN, "c1", "may open only 64 files", ("c1: 64",), "w.", "raise")


def diagnosis(*findings: Finding) -> Diagnosis:
    checked = (
        Checked("names", "Names agree", tuple(one for one in findings if one.check == "names")),
        Checked("mtu", "One MTU", tuple(one for one in findings if one.check == "mtu")),
        Checked("limits", "Limits", tuple(one for one in findings if one.check == "limits")),
        Checked("acs", "Direct", (), Skipped("no node has both GPUs and RDMA adapters")),
    )
    untried = {"mtu": "c1: its ping does not do that (ping: invalid option -- 'M')"}
    return Diagnosis(checked, ("c1", "c2", "c3"), ("net1",), 3.0, untried)


@pytest.mark.parametrize(
    ("name", "findings"), [("doctor-findings", (NOTE, WARN, MTU)), ("doctor-clean", ())]
)
def test_the_page_is_that_of_the_snapshot(name: str, findings: tuple[Finding, ...]) -> None:
    shown = FORMATS["terminal"](diagnosis(*findings), Setting(width=100))
    assert shown == (SNAPSHOTS / f"{name}.txt").read_text()


def test_the_markdown_is_that_of_the_snapshot() -> None:
    shown = FORMATS["markdown"](diagnosis(NOTE, WARN, MTU), Setting())
    assert shown == (SNAPSHOTS / "doctor-findings.md").read_text()


def test_the_document_has_findings_worst_first_and_every_check() -> None:
    document = json.loads(FORMATS["json"](diagnosis(NOTE, WARN, MTU), Setting()))
    assert [one["severity"] for one in document["findings"]] == ["FAIL", "WARN", "NOTE"]
    (mend,) = document["findings"][0]["mends"]
    assert (mend["node"], mend["stdin"]) == ("c2", "")
    assert mend["argv"] == ["ip", "link", "set", "dev", "eth0", "mtu", "1500"]
    assert [one["check"] for one in document["checks"]] == ["names", "mtu", "limits", "acs"]
    assert document["checks"][3]["skipped"] == "no node has both GPUs and RDMA adapters"
    assert document["doctor"] == 1


def test_where_nothing_could_look_nothing_is_called_clean() -> None:
    skipped = Checked("acs", "Direct", (), Skipped("no GPUs"))
    assert conclusion(Diagnosis((skipped,), (), (), 0.0, {})) == "nothing could be checked"
    assert conclusion(diagnosis()) == "no finding: 3 checks ran, 1 more could not run"


def test_a_command_is_never_cut_into_lines() -> None:
    words = tuple(f"word{number}" for number in range(60))
    long = Finding("mtu", Severity.FAIL, "c2", "x", (), "w.", "r", mends=(Command("c2", words),))
    shown = FORMATS["terminal"](diagnosis(long), Setting(width=60))
    assert f"    on c2: {' '.join(words)}\n" in shown


def test_colour_is_used_where_it_was_asked_for() -> None:
    plain = FORMATS["terminal"](diagnosis(MTU), Setting(width=100))
    coloured = FORMATS["terminal"](diagnosis(MTU), Setting(width=100, colour=True))
    assert "\x1b" not in plain
    assert "\x1b[1;37;41mFAIL\x1b[0m mtu: c2:eth0" in coloured


HOSTILE = "<b onload=x>&\x1b[31m$(id)\u202e</pre>"


@pytest.mark.parametrize("text", ["c2", HOSTILE])
def test_the_html_page_holds_no_tag_of_the_data_and_no_script(text: str) -> None:
    command = Command(text, ("ip", text))
    named = msgspec.structs.replace(
        MTU, where=text, what=text, evidence=(text, f"therefore {text}"), why=text, remedy=text,
        network=text, mends=(command,),
    )  # fmt: skip
    found = diagnosis(named)
    found = msgspec.structs.replace(
        found, nodes=(text,), networks=(text,), untried={text: text},
        checked=(*found.checked, Checked(text, text, (), Skipped(text))),
    )  # fmt: skip
    html = FORMATS["html"](found, Setting())
    page = Page(html)
    (script,) = page.scripts
    assert "clipboard" in script
    assert text not in script or text == "c2"
    assert not any(name.startswith("on") for _, has in page.tags for name in has)
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert ("&lt;b onload=" in html) is (text == HOSTILE)
    assert [name for name, _ in page.tags].count("pre") == 1


def test_the_html_page_parts_evidence_from_what_follows_and_sound_from_not_looked() -> None:
    html = FORMATS["html"](diagnosis(NOTE, WARN, MTU), Setting())
    assert '<p class="word">FAIL</p>' in html
    assert html.index('id="fail"') < html.index('id="warn"') < html.index('id="note"')
    evidence, _, rest = html.partition("<dt>Consequences</dt>")
    assert "<li>c1:eth0 has MTU 1500</li>" in evidence
    assert "<dd><ul><li>counters: c2:eth0: drops frames</li></ul></dd>" in rest
    assert "on c2: ip link set dev eth0 mtu 1500" in html
    assert '<th>acs</th><td class="how">no node has both GPUs and RDMA adapters</td>' in html
    assert "<th>part of mtu</th>" in html


def test_the_html_page_of_a_sound_cluster_says_what_was_looked_at() -> None:
    html = FORMATS["html"](diagnosis(), Setting())
    assert '<p class="word">SOUND</p>' in html
    assert '<th>names</th><td class="how">Names agree</td>' in html
    assert 'class="judgement' not in html


def test_a_check_whose_findings_follow_from_anothers_is_not_called_sound() -> None:
    counters = Checked("counters", "No counter rises", ())
    found = diagnosis(MTU)
    found = msgspec.structs.replace(found, checked=(*found.checked, counters))
    html = FORMATS["html"](found, Setting())
    assert "No counter rises: failed as a consequence" in html


def test_where_nothing_could_look_the_html_page_calls_nothing_sound() -> None:
    skipped = Checked("acs", "Direct", (), Skipped("no GPUs"))
    html = FORMATS["html"](Diagnosis((skipped,), (), (), 0.0, {}), Setting())
    assert '<p class="word">NOT CHECKED</p>' in html
    assert 'id="sound"' not in html


def test_the_headline_names_the_two_worst_findings_with_their_places() -> None:
    slow = msgspec.structs.replace(MTU, where="c3:eth0", what="runs at 1 Gb/s", nodes=("c3",))
    told = conclusion(diagnosis(NOTE, WARN, MTU, slow))
    assert told.startswith(
        "c2:eth0: has MTU 1400, net1 has 1500 elsewhere; c3:eth0: runs at 1 Gb/s"
    )
    assert told.endswith("; 2 more findings (1 WARN, 1 NOTE)")
    many = tuple(f"c{number}" for number in range(1, 2001))
    wide = msgspec.structs.replace(MTU, where=", ".join(many), nodes=many)
    assert conclusion(diagnosis(wide)).startswith("c[1-2000]: has MTU 1400")


def test_what_nothing_reads_is_listed_once_for_nodes_that_say_the_same() -> None:
    unread = msgspec.structs.replace(
        diagnosis(), unread=("notes: no printout",),
        troubles=dict.fromkeys(("c1", "c2"), ("shopping: no parser knows it",)),
    )  # fmt: skip
    shown = FORMATS["terminal"](unread, Setting(width=100))
    assert "Not read\n  notes: no printout\n  c[1-2]: shopping: no parser knows it\n" in shown
    assert json.loads(FORMATS["json"](unread, Setting()))["unread"] == ["notes: no printout"]
