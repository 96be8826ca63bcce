"""What `pip wheel` makes runs far from the repository, at the oldest and newest dependencies."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from tests.docs.pages import fences

from fabricgauge import __version__
from fabricgauge.store.files import toml

ROOT = Path(__file__).parents[1]
#: Variables by which a test's own surroundings would reach the installed program.
FOREIGN = ("FABRICGAUGE_", "PYTHON", "VIRTUAL_ENV", "XDG_")


def run(*words: str | Path, cwd: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, env={**kept, **env}, capture_output=True,
        text=True, check=False, timeout=900,
    )  # fmt: skip


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    made = run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT,
        cwd=folder,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (file,) = folder.glob("fabricgauge-*.whl")
    return file


def test_the_wheel_has_all_that_the_program_reads(wheel: Path, tmp_path: Path) -> None:
    """Run from the unpacked wheel, with the dependencies that are here."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    source = ROOT / "src" / "fabricgauge"
    for file in source.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            assert (tmp_path / "fabricgauge" / file.relative_to(source)).is_file(), file
    code = (
        "import sys, fabricgauge, fabricgauge.cli.main as m;"
        "from fabricgauge.nodes.engines import build;"
        "print(fabricgauge.__file__, build.INSTALLED.is_dir());"
        "sys.argv = ['fabricgauge', '--help']; m.main()"
    )
    said = run(sys.executable, "-P", "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert said.returncode == 0, said.stderr
    first, _, help_ = said.stdout.partition("\n")
    assert first == f"{tmp_path}/fabricgauge/__init__.py True" and "check" in help_


@pytest.mark.slow
def test_the_readmes_lines_install_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """Run the lines as they stand, in a home directory of their own."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (block,) = (fence.text for fence in fences(readme) if fence.language == "sh")
    shutil.copy(wheel, tmp_path)
    script = f"{block}fabricgauge --version && fabricgauge explain PASS"
    done = run("sh", "-euc", script, cwd=tmp_path, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"version {__version__}" in done.stdout


def lowest() -> list[str]:
    """The dependencies at the oldest versions that pyproject.toml allows."""
    project = toml.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["mpi"]]
    assert len(wanted) >= 8 and all(">=" in one for one in wanted)
    return [one.replace(">=", "==") for one in wanted]


@pytest.mark.lab
@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("versions", ["lowest", "newest"])
def test_a_lab_is_measured_with_what_was_installed_from_the_wheel(
    wheel: Path, tmp_path: Path, versions: str
) -> None:
    """What load cannot change: all is measured, path and placement are proved, nothing fails.

    A busy machine may leave the figures undecided, with exit status 3.
    """
    venv.create(tmp_path / "env", with_pip=True)
    program = tmp_path / "env" / "bin"
    pinned = lowest() if versions == "lowest" else ["--upgrade"]
    installed = run(program / "python", "-m", "pip", "install", "--quiet",
                    f"fabricgauge[mpi] @ {wheel.as_uri()}", *pinned, cwd=tmp_path)  # fmt: skip
    assert installed.returncode == 0, installed.stderr
    home = tmp_path / "home"
    home.mkdir()
    done = run(
        program / "fabricgauge", "check", "--lab", "-o", home / "runs",
        cwd=home, HOME=str(home), XDG_CACHE_HOME=str(home / "cache"),
    )  # fmt: skip
    words = {0: ("PASS", "WARN"), 3: ("INCONCLUSIVE",)}
    said = f"{done.stdout}\n{done.stderr}"
    assert done.stdout.split()[0] in words.get(done.returncode, ()), said
    (path,) = (home / "runs").iterdir()
    assert not path.name.endswith(".partial") and (path / "report.html").stat().st_size > 50_000
    verdicts = json.loads((path / "verdicts.json").read_text())
    outcomes = {rule: {one["outcome"] for one in verdicts if one["rule"] == rule}
                for rule in (one["rule"] for one in verdicts)}  # fmt: skip
    assert outcomes["path"] == outcomes["placement"] == {"PASS"}, said
    assert not {"FAIL", "INVALID"} & set().union(*outcomes.values()), said
    assert list((home / "cache").rglob("fabricgauge-engine"))
