from pathlib import Path

import pytest
from tests.report.comparison import compared
from tests.report.html.test_browser import CHROMIUM, HOSTILE, opened

from fabricgauge.report.content.comparison import KIND
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

FORMATS = formats_of(KIND)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run-1", *HOSTILE])
def test_every_plot_is_drawn_and_nothing_from_the_data_runs(name: str, tmp_path: Path) -> None:
    page = FORMATS["html"](compared.sure(name), Setting())
    seen = opened(page, tmp_path, "--dump-dom")
    assert seen.stdout.count('class="drawn"') == 5
    assert "<title>REGRESSION: fabricgauge compare</title>" in seen.stdout
    assert "Content Security Policy" not in seen.stderr
