import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from benchmarks.report_scale import browser
from tests.features.application import test_scaling
from tests.report import sample, sample_verdicts

from fabricgauge.features.application.scale_content import KIND
from fabricgauge.features.application.scaling import ScaleRun, with_points
from fabricgauge.model.judged import TableVerdict
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.formats import formats_of, report
from fabricgauge.report.interface import Setting

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">$$x$$",
)
CHROMIUM = shutil.which("chromium")
Talk = Callable[[str, dict[str, Any]], Any]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]


def opened(page: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "report.html"
    file.write_text(page)
    return subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={folder / 'profile'}", "--window-size=1280,2400",
            "--virtual-time-budget=10000", "--enable-logging=stderr", *options, file.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip


def test_every_plot_is_drawn_and_the_policy_stops_nothing_of_ours(tmp_path: Path) -> None:
    seen = opened(report(sample.judged(), "html"), tmp_path, "--dump-dom")
    drawn = seen.stdout.count('class="drawn"')
    assert drawn == 4
    assert "could not be drawn" not in seen.stdout.split('id="plots"')[0]
    assert "Content Security Policy" not in seen.stderr


def test_no_script_from_the_data_runs(tmp_path: Path) -> None:
    judged = sample.judged(HOSTILE, sample_verdicts.invalid(HOSTILE))
    seen = opened(report(judged, "html"), tmp_path, "--dump-dom")
    assert "<title>INVALID: fabricgauge" in seen.stdout
    assert seen.stdout.count('class="drawn"') == 4
    assert "Content Security Policy" not in seen.stderr


def test_a_screenshot_shows_more_than_an_empty_page(tmp_path: Path) -> None:
    shot = tmp_path / "report.png"
    opened(report(sample.judged(), "html"), tmp_path, f"--screenshot={shot}")
    assert shot.stat().st_size > 100_000


def tables() -> str:
    """A page of three tables: two that pass, one that fails."""
    told = (("PASS", "fast.out"), ("FAIL", "slow.out"), ("PASS", "other.out"))
    made = tuple(
        TableVerdict(
            Outcome(word), source, 1, "osu", "osu_bw", "net1", (), True, "fraction", "", "", "", 0.9
        )
        for word, source in told
    )
    return report(msgspec.structs.replace(sample.judged(), tables=made), "html")


SHOWN = "[...document.querySelector('table.filtered').tBodies[0].rows].filter((r) => !r.hidden)"
WORDS = "document.querySelector('.filter input')"
PRESS = "[...document.querySelectorAll('.filter button')].find((b) => b.textContent === 'PASS')"


@contextmanager
def page_in_browser(page: str, folder: Path) -> Iterator[tuple[Talk, Callable[[str], Any]]]:
    """What sends commands to the page's tab, and what evaluates an expression in it."""
    file = folder / "report.html"
    file.write_text(page)
    with browser() as talk:
        made = talk("Target.createTarget", {"url": file.as_uri()})
        told = talk("Target.attachToTarget", {"targetId": made["targetId"], "flatten": True})

        def command(method: str, values: dict[str, Any]) -> Any:
            return talk(method, values, told["sessionId"])

        def asked(expression: str) -> Any:
            values = {"expression": expression, "returnByValue": True}
            return command("Runtime.evaluate", values)["result"].get("value")

        yield command, asked


def until(asked: Callable[[str], Any], expression: str) -> None:
    give_up = time.monotonic() + 60
    while not asked(f"Boolean({expression})") and time.monotonic() < give_up:
        time.sleep(0.1)


def test_a_list_of_tables_is_narrowed_by_words_and_by_outcomes(tmp_path: Path) -> None:
    with page_in_browser(tables(), tmp_path) as (command, asked):

        def shown() -> list[str]:
            found: list[str] = asked(f"{SHOWN}.map((r) => r.cells[1].textContent.split(':')[0])")
            return found

        until(asked, WORDS)
        assert shown() == ["slow.out", "fast.out", "other.out"]
        asked(f"{WORDS}.focus()")
        command("Input.insertText", {"text": "osu OTHER"})
        assert shown() == ["other.out"]
        assert asked("document.querySelector('.filter span').textContent") == "1 of 3"
        asked(f"{WORDS}.value = ''")
        asked(f"{PRESS}.click()")
        assert shown() == ["slow.out"]


DRAWN = "document.documentElement.dataset.drawn"
#: The labels of the y axis of the first plot.
LABELS = """[...document.querySelectorAll('#plot-0 text.tick.end')].map((t) => t.textContent)"""


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        ((8.0, 4.0, 2.5), ["1", "2", "4"]),
        # Four nodes take sixteen times as long as one.
        ((1.0, 2.0, 16.0), ["0.0625", "0.125", "0.25", "0.5", "1", "2", "4"]),
    ],
)
def test_speed_up_has_powers_of_two_below_one_as_well(
    tmp_path: Path, seconds: tuple[float, ...], labels: list[str]
) -> None:
    launches = tuple(test_scaling.launch(0, arm, s) for arm, s in enumerate(seconds))
    run = ScaleRun(("app",), "net1", 1, test_scaling.DESIGN, launches)
    made = formats_of(KIND)["html"](with_points(run), Setting())
    with page_in_browser(made, tmp_path) as (_, asked):
        until(asked, DRAWN)
        assert asked(LABELS) == labels
