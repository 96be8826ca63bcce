import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report import sample, sample_verdicts

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
