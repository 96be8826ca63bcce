"""Checks that a real Slurm runs, on a lab: submitted, collected, cut short in every way."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, SHORT, Checked, fabricgauge, until
from tests.check.test_no_shared_folder import OPTIONS, REASONS, hide
from tests.features.gpu.gpu_stand_ins import stand_ins
from tests.features.jobs.slurm_lab import (
    MPIS_AND_LAUNCHERS,
    PATIENCE_S,
    chosen,
    on_head,
    slurm_lab,
    until_nothing_is_left,
)
from tests.lab.conftest import on

from fabricgauge.features.slurm_lab import cluster
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.state import LabState
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import jobs

pytestmark = [pytest.mark.lab, pytest.mark.engine]

#: Long enough to be broken off in the middle: its cases never get narrow enough.
LONG = (
    "--patterns", "latency,bandwidth", "--sizes", "8,64K", "--case-budget", "4",
    "--half-width", "0.0001",
)  # fmt: skip


TINY = ("--patterns", "latency", "--sizes", "8", "--case-budget", "0.1")


@pytest.fixture(scope="module")
def slurm() -> Iterator[LabState]:
    with slurm_lab("submit") as state:
        yield state


def submit(slurm: LabState, root: Path, *words: str) -> Checked:
    return Checked(on_head(slurm, "submit", "-o", str(root), *words), root)


def submitted(slurm: LabState, root: Path, *words: str) -> tuple[Path, str]:
    """A run whose job nobody waits for, and the job's number."""
    done = on_head(slurm, "submit", "--no-wait", "-o", str(root), *words)
    assert done.returncode == 0, done.stderr
    assert "fabricgauge collect" in done.stderr
    (run,) = root.glob("2*")
    (job,) = jobs(RunDirectory(run))
    return run, job.number


def lab(slurm: LabState, *words: str) -> None:
    """A subcommand of ``fabricgauge lab`` for this one."""
    done = fabricgauge("lab", words[0], "--name", slurm.name, *words[1:])
    assert done.returncode == 0, done.stderr


def job_state(slurm: LabState, job: str) -> str:
    return on(slurm, "head", "squeue", "-h", "--states=all", "-j", job, "-o", "%T").strip()


def measuring(run: Path) -> None:
    """Wait until the first launch has results."""
    results = run / "raw" / "launch-01-1" / "stdout.jsonl"
    until(lambda: results.exists() and "latency/8" in results.read_text(), 150, "results")


@pytest.mark.parametrize(("mpi", "launcher"), MPIS_AND_LAUNCHERS)
def test_a_job_is_submitted_run_proved_and_judged(
    mpi: str, launcher: str, slurm: LabState, tmp_path: Path
) -> None:
    words = chosen(mpi)
    where = ("-p", "normal", "-N2", "--launcher", launcher)
    checked = submit(slurm, tmp_path, *where, *words, *SHORT)
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert checked.outcomes("completeness") == {"PASS"}, checked.text
    assert checked.path.suffix != ".partial"
    until_nothing_is_left(slurm, tmp_path)


@pytest.mark.slow
def test_many_nodes_and_a_second_job_for_whoever_is_suspected(
    slurm: LabState, tmp_path: Path
) -> None:
    lab(slurm, "fault", "rate", "c3", "net1", "100M")
    try:
        words = ("-N3", "--patterns", "all_pairs_bandwidth", "--launches", "2")
        checked = submit(slurm, tmp_path, *words, "--sizes", "64K,1M")
    finally:
        lab(slurm, "heal")
    assert len(jobs(RunDirectory(checked.path))) == 2, checked.text
    assert "c3" in checked.words("outliers"), checked.text
    # Others may be suspected on a busy machine: that is a WARN, and names nobody.
    assert checked.outcomes("outliers") & {"FAIL", "INCONCLUSIVE"}


@pytest.mark.slow
def test_each_pair_can_be_a_job_of_its_own(slurm: LabState, tmp_path: Path) -> None:
    """One at a time is handed over; the others follow later, and the slow node is named."""
    lab(slurm, "fault", "rate", "c3", "net1", "100M")
    try:
        words = ("-w", "c[1-3]", "--pair-jobs", "--network", "net1", "-o", str(tmp_path))
        begun = on_head(slurm, "submit", *words, "--launches", "2", "--no-wait")
        assert begun.returncode == 0, begun.stderr
        assert "Not in the queue yet: 2 pairs" in begun.stderr
        (run,) = tmp_path.glob("2*")
        assert f"submit --resume {run} --nodelist c1,c2,c3" in begun.stderr
        resumption = on_head(slurm, "submit", "--resume", str(run), "-w", "c[1-3]")
        checked = Checked(resumption, tmp_path)
    finally:
        lab(slurm, "heal")
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert checked.outcomes("completeness") == {"PASS"}, checked.text
    assert "c3" in checked.words("outliers"), checked.text
    measured = [one for one in jobs(RunDirectory(checked.path)) if len(one.launches[0].nodes) == 2]
    assert len(measured) >= 3
    until_nothing_is_left(slurm, tmp_path)


def test_pair_jobs_say_what_they_need(slurm: LabState, tmp_path: Path) -> None:
    unnamed = on_head(slurm, "submit", "-N3", "--pair-jobs", "-o", str(tmp_path))
    assert (unnamed.returncode, "--pair-jobs needs the nodes by name" in unnamed.stderr) == (
        2,
        True,
    )
    nowhere = on_head(slurm, "submit", "-w", "c[1-3]", "--pair-jobs", "-o", str(tmp_path))
    assert (nowhere.returncode, "needs --network" in nowhere.stderr) == (2, True)
    words = ("--dry-run", "-w", "c[1-3]", "--pair-jobs", "--network", "net1", "-o", str(tmp_path))
    shown = on_head(slurm, "submit", *words)
    assert "# one of 3 jobs" in shown.stdout
    assert not list(tmp_path.glob("2*"))


def test_buffers_of_a_job_lie_where_it_was_said(slurm: LabState, tmp_path: Path) -> None:
    """With a stand-in for NVIDIA's driver and an MPI that says that it is GPU-aware."""
    variables = {**stand_ins(tmp_path), "SBATCH_EXPORT": "ALL"}
    words = ("submit", "-N2", *TINY, "--memory", "cuda,host", "--device", "1", "-o", str(tmp_path))
    done = subprocess.run(
        [*entry(slurm, "head"), "env", *(f"{key}={value}" for key, value in variables.items()),
         str(PROGRAM), *words],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    checked = Checked(done, tmp_path)
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert "Copies between GPU and host" in checked.prose
    plan = json.loads((checked.path / "plan.json").read_text())
    assert (plan["memory"], plan["device"]) == ("cuda,host", 1)
    assert "buffers in cuda memory at the origin, in host memory at the target" in checked.prose


@pytest.mark.slow
def test_collect_does_what_nobody_waited_for(slurm: LabState, tmp_path: Path) -> None:
    run, job = submitted(slurm, tmp_path, *SHORT)
    done = on_head(slurm, "collect", run.name[:16], "-o", str(tmp_path))
    checked = Checked(done, tmp_path)
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert f"job {job}: completed" in done.stderr
    again = on_head(slurm, "collect", "latest", "-o", str(tmp_path))
    assert again.returncode == 2
    assert "is complete" in again.stderr


@pytest.mark.slow
def test_a_cancelled_job_is_told_kept_and_resumed(slurm: LabState, tmp_path: Path) -> None:
    run, job = submitted(slurm, tmp_path, *LONG)
    measuring(run)
    on(slurm, "head", "scancel", job)
    checked = Checked(on_head(slurm, "collect", str(run)), tmp_path)
    assert "cancelled" in checked.text
    assert "submit --resume" in checked.prose
    assert checked.status == 3
    until_nothing_is_left(slurm, tmp_path)
    before = (checked.path / "results.jsonl").read_text()
    assert "latency/8/0>1" in before
    resumed = Checked(on_head(slurm, "submit", "--resume", str(run)), tmp_path)
    assert resumed.outcomes("completeness") == {"PASS"}, resumed.text
    after = (resumed.path / "results.jsonl").read_text()
    assert after.startswith(before)
    assert sum('"latency/8/0>1"' in line for line in after.splitlines()) == 1


@pytest.mark.slow
def test_a_job_that_runs_out_of_time_is_told_and_kept(slurm: LabState, tmp_path: Path) -> None:
    run, _ = submitted(slurm, tmp_path, *LONG, "--case-budget", "200", "-t", "0:20")
    checked = Checked(on_head(slurm, "collect", str(run)), tmp_path)
    assert "timeout" in checked.text, checked.text
    assert checked.status == 3
    until_nothing_is_left(slurm, tmp_path)


@pytest.mark.slow
def test_a_controller_that_is_restarted_loses_nothing(slurm: LabState, tmp_path: Path) -> None:
    words = ("submit", "-o", str(tmp_path), *LONG)
    with subprocess.Popen(
        [*entry(slurm, "head"), str(PROGRAM), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        until(lambda: bool(list(tmp_path.glob("*/raw/launch-01-1/stdout.jsonl"))), 60, "a launch")
        lab(slurm, "slurm", "restart", "head")
        out, err = running.communicate(timeout=200)
    checked = Checked(subprocess.CompletedProcess((), running.returncode, out, err), tmp_path)
    assert checked.outcomes("completeness") == {"PASS"}, checked.text


@pytest.mark.slow
def test_its_own_death_stops_no_job(slurm: LabState, tmp_path: Path) -> None:
    words = ("submit", "-o", str(tmp_path), *LONG)
    with subprocess.Popen(
        [*entry(slurm, "head"), str(PROGRAM), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as running:  # fmt: skip
        until(lambda: bool(list(tmp_path.glob("*/raw/launch-01-1"))), 60, "a launch")
        os.killpg(running.pid, signal.SIGKILL)
    (run,) = tmp_path.glob("2*")
    checked = Checked(on_head(slurm, "collect", str(run)), tmp_path)
    assert checked.outcomes("completeness") == {"PASS"}, checked.text


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupted_submit_names_what_goes_on(
    number: int, slurm: LabState, tmp_path: Path
) -> None:
    """Also where the program on the lab's head waits, and only the one outside is interrupted."""
    words = ("submit", "--lab", slurm.name, "-o", str(tmp_path), *LONG)
    with subprocess.Popen([PROGRAM, *words], stderr=subprocess.PIPE, text=True) as running:
        until(lambda: bool(list(tmp_path.glob("*/raw/launch-01-1"))), 60, "a launch")
        running.send_signal(number)
        _, said = running.communicate(timeout=30)
    (run,) = tmp_path.glob("2*")
    (job,) = jobs(RunDirectory(run))
    assert running.returncode == 130
    assert f"lab exec --name {slurm.name} head -- scancel {job.number}" in said
    assert f"fabricgauge collect --lab {slurm.name} {run}" in said
    on(slurm, "head", "scancel", job.number)
    collected = fabricgauge("collect", "--lab", slurm.name, str(run))
    assert f"job {job.number}: cancelled" in collected.stderr
    until_nothing_is_left(slurm, tmp_path)


def test_no_job_is_left_in_a_lab_that_is_removed() -> None:
    done = fabricgauge("submit", "--lab", "--no-wait")
    assert done.returncode == 2
    assert "lab up --slurm" in done.stderr


@pytest.mark.slow
def test_nodes_that_cannot_hold_the_programs_are_named_and_the_rest_is_measured(
    tmp_path: Path,
) -> None:
    """The first node too can hold nothing, not even the job's own files."""
    options = {"c1": OPTIONS["c3"], "c2": OPTIONS["c2"], "c3": OPTIONS["c1"], "c4": OPTIONS["c4"]}
    with slurm_lab("carry", nodes=4) as state:
        hide(state.name, options)
        done = Checked(
            on_head(
                state, "submit", "--carry", "--mpi", "mpich", "-N", "4", "-o", str(tmp_path), *SHORT
            ),
            tmp_path,
        )
    coverage = done.words("coverage")
    for node, reason in (("c1", REASONS["c3"]), ("c4", REASONS["c4"])):
        assert f"{node} cannot measure" in coverage and reason in coverage, done.text
    assert '"nodes":["c2","c3"]' in (done.path / "launches.jsonl").read_text()
    assert done.outcomes("path") == {"PASS"}, done.text


@pytest.mark.slow
def test_results_outlive_a_job_whose_tmp_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """job_container/tmpfs gives each job a /tmp and a /dev/shm that end with it."""

    def write_conf(directory: Path, nodes: Sequence[str], mpi: str, emulated: bool = False) -> None:
        write(directory, nodes, mpi, emulated)
        base = "AutoBasePath=true\nBasePath=/run/containers\n"
        (directory / "etc" / "job_container.conf").write_text(base)
        with (directory / "etc" / "slurm.conf").open("a") as conf:
            conf.write("JobContainerType=job_container/tmpfs\nPrologFlags=Contain\n")

    write = cluster._write_conf
    monkeypatch.setattr(cluster, "_write_conf", write_conf)
    with slurm_lab("own-tmp", nodes=2) as state:
        on(state, "head", "srun", "-N", "2", "true", check=False)  # the first one may be too early
        hide(state.name, {"c1": "size=90m", "c2": "size=90m"})
        words = ("submit", "--carry", "--mpi", "mpich", "-N", "2", "-o", str(tmp_path), *SHORT)
        done = Checked(on_head(state, *words), tmp_path)
    assert done.outcomes("completeness") == {"PASS"}, done.text
    assert done.outcomes("path") == {"PASS"}, done.text


def test_hostile_names_arrive_as_data(slurm: LabState, tmp_path: Path) -> None:
    root = tmp_path / "a 'b\" $(touch x) %j\n#SBATCH -N9"
    name = "j 'n\" $(touch x)\n`touch x`"
    run, job = submitted(slurm, root, *SHORT, "-J", name, "--sbatch", "--comment=a b\n$(touch x)")
    shown = on(slurm, "head", "squeue", "-h", "--states=all", "-j", job, "-o", "%j|%k")
    assert "$(touch x)" in shown.partition("|")[0]
    assert "$(touch x)" in shown.partition("|")[2]
    checked = Checked(on_head(slurm, "collect", str(run)), root)
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert not list(tmp_path.rglob("x"))
    assert not Path("x").exists()


def test_an_option_that_a_resumption_does_not_heed_is_refused(
    slurm: LabState, tmp_path: Path
) -> None:
    done = on_head(slurm, "submit", "--resume", "latest", "--ppn", "2", "-o", str(tmp_path))
    assert (done.returncode, "takes --ppn from the run" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_job_that_is_submitted_from_another_one_is_none_of_its_steps(
    slurm: LabState, tmp_path: Path
) -> None:
    """The allocation counts memory by processor, the job by node; a step may have one of them."""
    inside = ("salloc", "-Q", "-N1", "-w", "c3", "--mem-per-cpu=10", str(PROGRAM), "submit")
    words = ("-w", "c[1-2]", "--sbatch=--mem=100", "-o", str(tmp_path), *TINY)
    done = subprocess.run(
        [*entry(slurm, "head"), *inside, *words],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert Checked(done, tmp_path).outcomes("completeness") == {"PASS"}, done.stderr


@pytest.mark.slow
def test_steps_have_the_jobs_variables_where_jobs_begin_without_any(
    slurm: LabState, tmp_path: Path
) -> None:
    words = ("submit", "--sbatch=--export=NONE", "--launcher", "srun", "-o", str(tmp_path), *TINY)
    checked = Checked(on_head(slurm, *words), tmp_path)
    assert checked.outcomes("completeness") == {"PASS"}, checked.text
    assert "FAIL" not in checked.outcomes("path"), checked.text


def test_a_network_that_the_nodes_do_not_have_is_told_with_those_they_have(
    slurm: LabState, tmp_path: Path
) -> None:
    done = on_head(slurm, "submit", "--network", "10.99.0.0/24", "-o", str(tmp_path), *TINY)
    assert done.returncode == 3
    assert "c1, c2 have net1 (10.77.0.0/24)" in done.stderr


def test_nodes_can_be_those_that_slurm_calls_idle(slurm: LabState, tmp_path: Path) -> None:
    done = on_head(slurm, "submit", "--dry-run", "-w", "@idle:normal", "-o", str(tmp_path))
    assert "#SBATCH --nodes=3\n" in done.stdout, done.stderr
    assert "#SBATCH --nodelist=c1,c2,c3\n" in done.stdout
    assert not list(tmp_path.glob("2*"))


def test_what_slurm_refuses_is_quoted_and_leaves_nothing(slurm: LabState, tmp_path: Path) -> None:
    done = on_head(slurm, "submit", "-p", "nowhere", "-o", str(tmp_path))
    assert done.returncode == 3
    assert "invalid partition" in done.stderr
    assert not list(tmp_path.glob("2*"))


@pytest.mark.slow
def test_a_node_that_dies_leaves_what_was_measured(tmp_path: Path) -> None:
    """And the job, which Slurm puts back into its queue, makes the rest once there are nodes."""
    with slurm_lab("dies", nodes=2) as state:
        run, job = submitted(state, tmp_path, *LONG, "--case-budget", "20")
        measuring(run)
        lab(state, "slurm", "kill", "c2")
        ends = ("PENDING", "NODE_FAIL", "FAILED")
        until(lambda: job_state(state, job) in ends, PATIENCE_S, "the end of the node")
        on(state, "head", "scancel", job)
        checked = Checked(on_head(state, "collect", str(run)), tmp_path)
        assert "latency/8/0>1" in (checked.path / "results.jsonl").read_text(), checked.text
        assert "submit --resume" in checked.prose
        until_nothing_is_left(state, tmp_path)


@pytest.mark.slow
def test_a_dead_pair_is_named_and_the_nodes_that_can_connect_are_measured(
    slurm: LabState, tmp_path: Path
) -> None:
    route = ("blackhole", "10.77.0.13")
    lab(slurm, "exec", "c2", "--", "ip", "route", "add", *route)
    try:
        run = submit(slurm, tmp_path, "-N", "3")
    finally:
        lab(slurm, "exec", "c2", "--", "ip", "route", "del", *route)
    assert run.status == 1, run.text
    assert "between c2:eth0 and c3:eth0" in run.words("connect")
    assert run.outcomes("coverage") == {"PASS"}
    measuring = [
        job
        for job in jobs(RunDirectory(run.path))
        if any(launch.purpose == "measure" for launch in job.launches)
    ]
    assert len(measuring) == 2  # on a busy machine others measure suspects again


@pytest.mark.slow
def test_a_dead_pair_is_named_where_each_pair_is_a_job(slurm: LabState, tmp_path: Path) -> None:
    route = ("blackhole", "10.77.0.13")
    lab(slurm, "exec", "c2", "--", "ip", "route", "add", *route)
    try:
        words = ("-w", "c[1-3]", "--pair-jobs", "--network", "net1", "-o", str(tmp_path))
        run = Checked(on_head(slurm, "submit", *words), tmp_path)
    finally:
        lab(slurm, "exec", "c2", "--", "ip", "route", "del", *route)
    assert run.status == 1, run.text
    # Where Slurm speaks over the same network, the step that connects cannot begin either.
    told = [one for one in run.verdicts if one["rule"] in ("connect", "launch")]
    failing = [json.dumps(one) for one in told if one["outcome"] == "FAIL"]
    assert failing
    assert all("c2" in one and "c3" in one and "c1" not in one for one in failing), run.text
    assert len(jobs(RunDirectory(run.path))) == 3
