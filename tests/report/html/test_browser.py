import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from benchmarks.report_scale import browser
from tests.report import sample, sample_verdicts

from fabricgauge.model.judged import TableVerdict
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.formats import report

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">$$x$$",
)
CHROMIUM = shutil.which("chromium")

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
    drawn = seen.stdout.count('class="bk-Figure"')
    assert drawn == 4
    assert "could not be drawn" not in seen.stdout.split('id="plots"')[0]
    assert "Content Security Policy" not in seen.stderr


def test_no_script_from_the_data_runs(tmp_path: Path) -> None:
    judged = sample.judged(HOSTILE, sample_verdicts.invalid(HOSTILE))
    seen = opened(report(judged, "html"), tmp_path, "--dump-dom")
    assert "<title>INVALID: fabricgauge" in seen.stdout
    assert seen.stdout.count('class="bk-Figure"') == 4
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


def test_a_list_of_tables_is_narrowed_by_words_and_by_outcomes(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(tables())
    with browser() as talk:
        made = talk("Target.createTarget", {"url": file.as_uri()})
        told = talk("Target.attachToTarget", {"targetId": made["targetId"], "flatten": True})

        def asked(expression: str) -> Any:
            values = {"expression": expression, "returnByValue": True}
            return talk("Runtime.evaluate", values, told["sessionId"])["result"].get("value")

        def shown() -> list[str]:
            found: list[str] = asked(f"{SHOWN}.map((r) => r.cells[1].textContent.split(':')[0])")
            return found

        give_up = time.monotonic() + 60
        while not asked(f"Boolean({WORDS})") and time.monotonic() < give_up:
            time.sleep(0.1)
        assert shown() == ["slow.out", "fast.out", "other.out"]
        asked(f"{WORDS}.focus()")
        talk("Input.insertText", {"text": "osu OTHER"}, told["sessionId"])
        assert shown() == ["other.out"]
        assert asked("document.querySelector('.filter span').textContent") == "1 of 3"
        asked(f"{WORDS}.value = ''")
        asked(f"{PRESS}.click()")
        assert shown() == ["slow.out"]
