import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from tests.report import sample, sample_verdicts

from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.formats import report
from fabricgauge.report.interface import Setting

HOSTILE = ("<script>alert(1)</script>", "\"; $(x) ' onload=alert(2) $$x$$\x1b[2J")
MOST_BYTES = 400_000


class Page(HTMLParser):
    """Tags with attributes, and the text of each script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data

    @property
    def policy(self) -> str:
        (meta,) = [a for t, a in self.tags if t == "meta" and "http-equiv" in a]
        return meta["content"] or ""


def html(judged: Judged) -> str:
    return report(judged, "html", Setting(run_directory="runs/k3f9"))


@pytest.fixture(scope="module")
def calm() -> str:
    return html(sample.judged())


@pytest.fixture(scope="module")
def hostile() -> str:
    return html(sample.judged(HOSTILE, sample_verdicts.invalid(HOSTILE)))


def test_the_file_is_small_enough_to_mail(calm: str) -> None:
    assert len(calm.encode()) < MOST_BYTES


def test_equal_runs_give_equal_files(calm: str) -> None:
    assert html(sample.judged()) == calm


def test_nothing_is_fetched(calm: str) -> None:
    for _, attributes in Page(calm).tags:
        assert not attributes.keys() & {"src", "srcset", "data", "action", "poster"}
        assert (attributes.get("href") or "#").startswith("#")
    style = re.search("<style>(.*?)</style>", calm, re.DOTALL)
    assert style
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_the_policy_allows_the_page_its_own_scripts_and_nothing_else(calm: str) -> None:
    page = Page(calm)
    assert page.policy.startswith("default-src 'none';")
    assert "connect-src" not in page.policy
    (scripts,) = [part for part in page.policy.split(";") if "script-src" in part]
    run = [script for script, (_, attributes) in zip(
        page.scripts, [one for one in page.tags if one[0] == "script"], strict=True,
    ) if "type" not in attributes]  # fmt: skip
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in run]
    assert scripts.split()[1:] == [f"'sha256-{one}'" for one in hashes]


def test_hostile_names_add_no_tag_and_no_attribute(calm: str, hostile: str) -> None:
    count = {tag for tag, _ in Page(calm).tags} ^ {tag for tag, _ in Page(hostile).tags}
    assert count <= {"ol", "li"}
    assert len(Page(hostile).scripts) == len(Page(calm).scripts)
    handlers = [name for _, attributes in Page(hostile).tags for name in attributes]
    assert not [name for name in handlers if name.startswith("on")]
    assert "alert(1)</script>" not in hostile.replace("&lt;/script&gt;", "")


def test_data_cannot_end_its_block(hostile: str) -> None:
    (block,) = [one for one in Page(hostile).scripts if one.startswith('{"plots"')]
    assert not set(block) & set("<>&")
    assert any(HOSTILE[0] in json.dumps(one) for one in json.loads(block)["plots"])


def test_an_escape_sequence_is_spelled_out(hostile: str) -> None:
    assert "\x1b" not in hostile
    assert "\\x1b[2J" in hostile


@pytest.mark.parametrize(
    "part",
    [
        "net1 carries", "1e9 / 8 × 1448 / 1538", "117.69 MB/s per direction", "net:[4026532210]",
        "How to check this report", "fabricgauge report runs/k3f9",
        "figures describe the lab",
        "rule host-limited on net1", "MPICH 5.0.2", "half a round trip",
    ],
)  # fmt: skip
def test_the_page_has(calm: str, part: str) -> None:
    assert part in calm


def test_worst_verdicts_come_first_and_stand_open() -> None:
    page = html(sample.judged(verdicts=sample_verdicts.failing(("c1", "c2"))))
    shown = re.findall(r'<details class="judgement (\w+)" id="verdict-\d+"( open)?>', page)
    assert [one[0] for one in shown[:3]] == ["fail", "warn", "pass"]
    assert [bool(one[1]) for one in shown] == [one[0] in ("fail", "warn") for one in shown]


def test_figures_of_an_invalid_network_are_struck_out(calm: str, hostile: str) -> None:
    assert 'class="void"' not in calm
    assert hostile.count('class="void"') == 2
    assert "Not valid:" in hostile


def test_a_run_without_any_result_still_has_a_page() -> None:
    judged = sample.judged(verdicts=())
    run = msgspec.structs.replace(judged.run, launches=(), complete=False)
    page = html(msgspec.structs.replace(judged, run=run, curves=(), ceilings={}))
    assert "No curve was measured" in page
    assert "it was never started" in page


def test_a_real_network_is_not_called_a_lab() -> None:
    assert "figures describe the lab" not in html(sample.judged(virtual=False))


def test_others_tables_have_a_filter_whose_script_the_policy_names() -> None:
    one = TableVerdict(
        Outcome.FAIL, "a.out", 1, "osu 7.4", "osu_bw", "edr", (), True, "fraction", "<b>slow</b>",
        "", "", 0.4,
    )  # fmt: skip
    fine = msgspec.structs.replace(one, outcome=Outcome.PASS, source="b.out", share=0.99)
    page = report(msgspec.structs.replace(sample.judged(), tables=(fine, one)), "html")
    rows = page.partition('<table class="filtered">')[2]
    assert "&lt;b&gt;slow" in page
    assert 0 < rows.index("a.out:1 osu_bw") < rows.index("b.out:1 osu_bw")
    (script,) = [one for one in Page(page).scripts if "table.filtered" in one]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page
