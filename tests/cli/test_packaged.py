"""Manual pages and completions name every verb and option, and are well formed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabricgauge import __version__
from fabricgauge.cli.overview import VERBS

ROOT = Path(__file__).parents[2]


def write(script: str, folder: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / script, folder], check=True)


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    write("write-man-pages", folder)
    return folder


def test_every_verb_has_its_page(manual: Path) -> None:
    names = {page.name for page in manual.iterdir()}
    assert {f"fabricgauge-{verb}.1" for verb in VERBS} <= names
    assert {"fabricgauge.1", "fabricgauge-lab-up.1", "fabricgauge-engine-build.1"} <= names
    check = (manual / "fabricgauge-check.1").read_text()
    assert f'"fabricgauge {__version__}"' in check
    for option in (r"\-w, \-\-nodelist NODES", r"\-h, \-\-help", r"\-\-budget TIME"):
        assert f"\\fB{option}\\fR" in check


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_no_page_has_a_fault_that_groff_sees(manual: Path) -> None:
    pages = sorted(manual.iterdir())
    done = subprocess.run(
        ["groff", "-man", "-ww", "-z", "-K", "utf8", *pages], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_completions_are_written_for_three_shells(tmp_path: Path) -> None:
    write("write-completions", tmp_path)
    files = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["_fabricgauge", "fabricgauge", "fabricgauge.fish"]
    bash = tmp_path / "bash-completion" / "completions" / "fabricgauge"
    script = f"source {bash} && complete -p fabricgauge"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert "_fabricgauge_completion" in done.stdout


def test_each_file_of_a_release_states_the_same_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == __version__  # type: ignore[index]
    project = (ROOT / "pyproject.toml").read_text()
    assert f'\nversion = "{__version__}"\n' in project
    header = (ROOT / "engine/include/fabricgauge/version.hpp").read_text()
    assert f'engine_version = "{__version__}";' in header
    for page in ("README.md", "docs/how-to/install.md"):
        files = re.findall(r"fabricgauge[-_](\d+\.\d+\.\d+)[-_]", (ROOT / page).read_text())
        assert set(files) == {__version__}, page


def test_the_changelog_states_the_release_in_eighty_lines() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    _, found, rest = changes.partition(f"\n## {__version__}")
    assert found
    section = rest.partition("\n## ")[0].splitlines()
    assert len(section) <= 80
    items = [line for line in section if line.startswith("- ")]
    assert items
    assert [item for item in items if len(item.split()) > 26] == []
