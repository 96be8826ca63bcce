import base64
import gzip
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.report_scale import browser
from tests.report import fabric_sample, sample
from tests.report.html.test_page import Page

from fabricgauge.report.content.pairs import heat_map
from fabricgauge.report.formats import report

NODES = fabric_sample.names(8)
HOSTILE = ("<script>alert(1)</script>", "\"; $(x) ' onload=alert(2) $$x$$\x1b[2J", "c", "d")
MOST_BYTES_OF_1024 = 2_000_000


@pytest.fixture(scope="module")
def page() -> str:
    return report(fabric_sample.judged(NODES), "html")


def plots(page: str) -> list[dict[str, Any]]:
    (block,) = [one for one in Page(page).scripts if one.startswith('{"plots"')]
    found: list[dict[str, Any]] = json.loads(block)["plots"]
    return found


def test_what_to_do_and_who_is_at_fault_are_the_first_sections(page: str) -> None:
    places = re.findall(r'<section id="(\w+)"', page)
    assert set(places[: places.index("fault")]) <= {"next", "scheduler"}
    assert page.index("n3, in both directions") < page.index('id="verdicts"')


@pytest.mark.parametrize(
    "part",
    [
        "is 75.0 % lower than for its peers", "explains 14 pairs",
        "fabricgauge check -w n1,n8 --profile full",
        "From group (row) to group", "Nodes, worst first", "Spectrum: net1", "MPI_Iallreduce",
        "Overlap over message size", "Time over ranks", "Latency under load", "3.40 ×",
        "Message rate of all pairs", "synchronised",
    ],
)  # fmt: skip
def test_the_page_has(page: str, part: str) -> None:
    assert part in page


def test_two_nodes_have_none_of_these_sections() -> None:
    plain = report(sample.judged(), "html")
    for name in ("fault", "pairs", "collectives", "load", "crowds"):
        assert f'id="{name}"' not in plain
        assert f'href="#{name}"' not in plain


def test_hostile_names_add_no_tag_and_no_script() -> None:
    calm = report(fabric_sample.judged(fabric_sample.names(4), slow=1, crowded=False), "html")
    hostile = report(fabric_sample.judged(HOSTILE, slow=1, crowded=False), "html")
    assert [tag for tag, _ in Page(calm).tags] == [tag for tag, _ in Page(hostile).tags]
    assert "\x1b" not in hostile
    (block,) = [one for one in Page(hostile).scripts if one.startswith('{"plots"')]
    assert not set(block) & set("<>&")
    assert plots(hostile)[0]["labels"][0] == HOSTILE[0]


@pytest.mark.parametrize("place", [0, 1])
def test_cells_of_many_nodes_are_packed_without_loss(place: int) -> None:
    judged = fabric_sample.judged(fabric_sample.names(300), crowded=False)
    heats = [one for one in plots(report(judged, "html")) if one["kind"] == "heat"]
    planes = np.frombuffer(gzip.decompress(base64.b64decode(heats[place]["cells"])), np.uint8)
    codes = np.split(planes.astype(np.uint16), 2)
    sent = codes[0] | codes[1] << 8
    by_title = {heat.title: heat for heat in map(heat_map, judged.fabric.analyses) if heat}
    (heat,) = [one for one in by_title.values() if one.unit == heats[place]["unit"]]
    # A latency is the same both ways, so one half of it is sent.
    assert heats[place]["mirrored"] == (heat.unit == "µs")
    expected = heat.cells[np.triu_indices(300)] if heats[place]["mirrored"] else heat.cells.ravel()
    assert (sent == expected).all()


def test_a_thousand_nodes_make_a_page_that_can_be_mailed() -> None:
    page = report(fabric_sample.judged(fabric_sample.names(1024), crowded=False), "html")
    assert len(page.encode()) < MOST_BYTES_OF_1024
    assert "The whole picture shows the worst of each 3 × 3 pairs" in page
    assert "more nodes are in" in page


def test_pointing_at_a_cell_names_its_nodes_and_value(page: str, tmp_path: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("no chromium on PATH")
    file = tmp_path / "report.html"
    file.write_text(page)
    with browser() as talk:
        made = talk("Target.createTarget", {"url": file.as_uri()})
        told = talk("Target.attachToTarget", {"targetId": made["targetId"], "flatten": True})
        said = _pointed(lambda name, values: talk(name, values, told["sessionId"]))
    assert re.match(
        r"n[1-8] \(leaf-[12]\) → n[1-8] \(leaf-[12]\): [\d.,]+ (?:µs|MB/s) \([+−]", said
    )


def _pointed(talk: Any) -> str:
    """What the page says when the pointer is over the first heat map, off its diagonal."""
    where = (
        "(() => { const p = document.querySelector('#plot-0 svg.drawn'); if (!p) return null;"
        " p.scrollIntoView(); const r = p.getBoundingClientRect();"
        " return [r.x + 0.7 * r.width, r.y + 0.3 * r.height]; })()"
    )
    read = "document.getElementById('plot-0-value').textContent"
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        time.sleep(0.3)
        at = _value(talk, where)
        if at:
            for away in (0, 3):
                place = {"type": "mouseMoved", "x": at[0] + away, "y": at[1]}
                talk("Input.dispatchMouseEvent", place)
            time.sleep(0.3)
            text = str(_value(talk, read) or "").strip()
            if text:
                return text
    return ""


def _value(talk: Any, expression: str) -> Any:
    asked = {"expression": expression, "returnByValue": True}
    return talk("Runtime.evaluate", asked)["result"].get("value")


def test_every_plot_is_drawn_when_it_comes_near(page: str, tmp_path: Path) -> None:
    from tests.report.html.test_browser import CHROMIUM, opened

    if CHROMIUM is None:
        pytest.skip("no chromium on PATH")
    # A browser that is short of processors may end before it has shown what it drew.
    for number in range(3):
        (folder := tmp_path / str(number)).mkdir()
        seen = opened(page, folder, "--dump-dom", "--window-size=1280,9000")
        drawn = seen.stdout.count('class="drawn"')
        if drawn >= 6:
            break
    unfolded = seen.stdout.count('class="plot')
    assert 6 <= drawn <= unfolded
    assert "could not be drawn" not in seen.stdout.split('id="plots"')[0]
    assert "Content Security Policy" not in seen.stderr
