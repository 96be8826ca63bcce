"""The site: every page opens by itself, links lead somewhere, foreign text is text."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.features.history.runs import copy_recorded, write_runs
from tests.report.html.test_browser import CHROMIUM, opened

from fabricgauge.features.history.drift import Policy, Reference
from fabricgauge.features.history.index import open_index
from fabricgauge.features.history.series import Selection, read_history
from fabricgauge.features.history.site import bin_over_time, write_pages
from fabricgauge.model.errors import UsageError
from fabricgauge.store.run_directory import PARTIAL


def write(root: Path, folder: Path) -> int:
    with open_index(root, root.parent / "index.sqlite") as connection:
        stored = read_history(connection, root, Selection())
    return write_pages(stored, folder, Policy(), lambda _key, _place: Reference())


def embedded(page: str) -> dict[str, object]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, object] = json.loads(match[1])
    return data


def test_each_node_has_a_page_and_each_link_a_target(tmp_path: Path) -> None:
    root, folder = write_runs(tmp_path / "runs", 10), tmp_path / "site"
    for run in root.iterdir():
        (run / "report.html").write_text("a report")
    assert write(root, folder) == 9
    for page in folder.rglob("*.html"):
        text = page.read_text()
        links = [unescape(link) for link in re.findall(r'href="([^"#]+)"', text)]
        links += [run[4] for run in embedded(text).get("runs", [])]  # type: ignore[attr-defined]
        assert links
        assert all((page.parent / unquote(link)).resolve().exists() for link in links)
    data = embedded((folder / "nodes" / "n3.html").read_text())
    series = data["series"]
    assert isinstance(series, list)
    assert [len(entry["points"]) for entry in series] == [10, 10, 10]


def test_a_page_fetches_nothing_and_runs_its_own_script_only(tmp_path: Path) -> None:
    root, folder = write_runs(tmp_path / "runs", 3), tmp_path / "site"
    write(root, folder)
    for page in folder.rglob("*.html"):
        text = page.read_text()
        assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", text)
        assert "default-src 'none'" in text
        assert len(re.findall(r"<script>", text)) == 1


def test_hostile_names_are_text(tmp_path: Path) -> None:
    root, folder = tmp_path / "runs", tmp_path / "site"
    path = copy_recorded(root, "healthy")
    hostile = "</script><script>alert(1)</script>"
    for name in ("fabric.json", "results.jsonl", "plan.json", "launches.jsonl"):
        text = (path / name).read_text()
        (path / name).write_text(text.replace('"c1"', json.dumps(hostile)))
    (path / "report.html").write_text("a report")
    write(root, folder)
    for page in folder.rglob("*.html"):
        assert "<script>alert" not in page.read_text()
        assert page.resolve().is_relative_to(folder.resolve())


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    root, folder = write_runs(tmp_path / "runs", 2), tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").touch()
    with pytest.raises(UsageError, match="other files"):
        write(root, folder)
    (folder / "thesis.tex").unlink()
    write(root, folder)
    write(root, folder)  # an earlier site is written again


def test_a_node_with_one_run_is_not_steady(tmp_path: Path) -> None:
    root, folder = write_runs(tmp_path / "runs", 60), tmp_path / "site"
    copy_recorded(root, "healthy")
    write(root, folder)
    pages = {node: (folder / "nodes" / f"{node}.html").read_text() for node in ("c1", "n3")}
    assert "TOO FEW RUNS" in pages["c1"] and "STEADY" not in pages["c1"]
    assert "STEADY" in pages["n3"] and "TOO FEW RUNS" not in pages["n3"]


def test_a_cell_is_the_worst_of_its_time() -> None:
    shares = np.array([[1.0, np.nan], [0.7, np.nan], [0.9, 1.0]])
    cells, columns = bin_over_time(shares, [0.0, 60.0, 120.0])
    assert cells.tolist()[0] == pytest.approx([1.0, 0.7, 0.9])
    assert np.isnan(cells[1, 0])
    assert len(columns) == 3
    cells, columns = bin_over_time(np.ones((1000, 2)), list(np.arange(1000.0)))
    assert cells.shape == (2, 240)


def test_a_run_without_a_verdict_is_not_called_unreadable(tmp_path: Path) -> None:
    root, folder = tmp_path / "runs", tmp_path / "site"
    path = copy_recorded(root, "healthy")
    path = path.rename(path.with_name(path.name + PARTIAL))
    (path / "verdicts.json").unlink(missing_ok=True)
    write(root, folder)
    text = (folder / "index.html").read_text()
    assert ">incomplete<" in text and ">unreadable<" not in text


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_rows_of_a_heat_map_have_names_and_slow_ones_stand_out(tmp_path: Path) -> None:
    def slow_down(run: int, rates: NDArray[np.float64]) -> None:
        rates[3] *= 0.8 if run > 5 else 1.0

    root, folder = write_runs(tmp_path / "runs", 8, slow_down), tmp_path / "site"
    write(root, folder)
    done = opened((folder / "index.html").read_text(), tmp_path, "--dump-dom")
    assert "Content Security Policy" not in done.stderr
    maps = re.findall(r'<div class="names".*?</div>', done.stdout)
    assert len(maps) == 3
    for names in maps:
        links = re.findall(r'<a href="([^"]+)"[^>]*class="(\w*)"[^>]*>(\w+)</a>', names)
        assert {name: href for href, _, name in links} == {
            f"n{node}": f"nodes/n{node}.html" for node in range(8)
        }
        slow = [name for _, kind, name in links if kind == "slow"]
        assert slow == (["n3"] if names in maps[1:] else [])
    assert done.stdout.count("<span>2023-11-") >= 6
