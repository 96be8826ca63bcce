"""Job scripts: what shellcheck says of them, and that nothing in them is interpreted."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.jobs.slurm.options import build_options, check_options, clusters
from fabricgauge.features.jobs.slurm.script import Script, ScriptLaunch, is_plain, script_text
from fabricgauge.model.batch import EACH_SUBNET, Request
from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import LaunchCommand

HOSTILE = "a b'\"$(touch /tmp/x)`id`;&|\n#SBATCH --nodes=9\\"
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


def script(*launches: ScriptLaunch, run_dir: str = "/runs/1", **environment: str) -> str:
    options = build_options(Request(2, partition="normal"), 5, Path(run_dir) / "job-1")
    return script_text(
        Script("20261122T000000Z-abc", run_dir, "job-1", options, environment, launches)
    )


def start(
    *argv: str, subnet: str | None = None, alone: bool = False, env: dict[str, str] | None = None
) -> ScriptLaunch:
    return ScriptLaunch(0, "job-1/cases-1.txt", 60, LaunchCommand(argv, env or {}), subnet, alone)


EVERYTHING = (
    start(
        "mpiexec", "-n", "2", "engine", "--pin", EACH_SUBNET, subnet=EACH_SUBNET, env={"UCX": "a b"}
    ),
    start("srun", HOSTILE, subnet="10.0.0.0/24"),
    start("mpiexec", "-n", "2", "engine", alone=True, env={"FI_TCP_IFACE": "lo"}),
)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("launches", [(), EVERYTHING], ids=["empty", "everything"])
def test_shellcheck_finds_nothing(launches: tuple[ScriptLaunch, ...]) -> None:
    written = script(*launches, run_dir=f"/runs/{HOSTILE}", FABRICGAUGE_CHILD=HOSTILE)
    done = subprocess.run(
        ["shellcheck", "-"], input=written, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_options_are_comments_of_sbatch_at_the_top() -> None:
    lines = script().splitlines()
    assert lines[0] == "#!/bin/sh"
    told = [line for line in lines if line.startswith("#SBATCH ")]
    assert "#SBATCH --nodes=2" in told
    assert "#SBATCH --partition=normal" in told
    assert lines.index(told[-1]) < lines.index("set -u")


def test_a_hostile_option_is_no_line_of_the_script() -> None:
    options = build_options(Request(2, job_name=HOSTILE), 5, Path("/r"))
    hostile = f"--job-name={HOSTILE}"
    assert hostile in options
    assert not is_plain(hostile)
    written = script_text(Script("id", "/r", "job-1", options, {}, ()))
    assert "touch" not in written
    assert "--nodes=9" not in written


def test_signs_of_percent_in_a_path_are_not_slurms() -> None:
    options = build_options(Request(2), 5, Path("/runs/100%N/%j"))
    assert "--output=/runs/100%%N/%%j/out-%j.txt" in options


@pytest.mark.parametrize(
    "word",
    ["mem=0", "", "-", "--", "--array=0-3", "--arr=1", "-a1", "--wrap=id", "-W", "--test-only"],
)
def test_what_would_make_no_single_job_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="--sbatch"):
        check_options([word])


def test_other_options_of_sbatch_are_passed_on_as_they_are() -> None:
    words = ("--mem=0", "--gres=gpu:1", "-B1:2", "--wait-all-nodes=1", "--comment=a b", "-Mfast")
    assert check_options(words) == words


@given(st.lists(WORDS, min_size=1, max_size=4), st.dictionaries(st.sampled_from("AB"), WORDS))
def test_words_and_variables_arrive_as_they_are(argv: list[str], env: dict[str, str]) -> None:
    show = ("sh", "-c", 'printf "%s\\0" "$A" "$B" "$@"', "show", *argv)
    line = _call(script(start(*show, env={"A": "", "B": "", **env})))
    shown = subprocess.run(
        ["sh", "-c", f'launch() {{ shift 2; "$@"; }}\nsubnet=S\n{line}'],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    expected = [env.get("A", ""), env.get("B", ""), *argv]
    assert shown.decode("utf-8", "surrogateescape").split("\0")[:-1] == [
        word.replace(EACH_SUBNET, "S") for word in expected
    ]


def _call(written: str) -> str:
    """The only call of ``launch``, with all the lines that belong to it."""
    return written[written.index("\nlaunch job-1") : written.rindex("\nfinish")]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), ""),
        (("--mem=0", "--clusters=fast,slow"), "fast,slow"),
        (("-Mfast",), "fast"),
        (("--cluster-constraint=big",), ""),
    ],
)
def test_clusters_are_those_that_sbatch_is_told(words: tuple[str, ...], named: str) -> None:
    assert clusters(words) == named
