"""Job scripts: what shellcheck says of them, and that nothing in them is interpreted."""

import hashlib
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.jobs.attempts import find_attempts
from fabricgauge.features.jobs.fetching import fetch_results, is_result, unpack
from fabricgauge.features.jobs.job import archive
from fabricgauge.features.jobs.slurm.script import (
    _PLACEHOLDER,
    Carried,
    Script,
    ScriptLaunch,
    is_plain,
    script_text,
)
from fabricgauge.features.jobs.slurm.slurm import JobState, build_options, check_options, clusters
from fabricgauge.model.batch import (
    EACH_PORTS,
    EACH_RAILS,
    EACH_SUBNET,
    FOUND_BASE,
    FOUND_MPIEXEC,
    ONE_DEVICE,
    ONE_UNIT,
    BatchJob,
    Request,
)
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.plan import Stopping
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import append_job

#: The shell's variables that replace placeholders.
NAMES = "subnet=S ports=S rails=S devices=S device=S unit=S"
HOSTILE = "a b'\"$(touch /tmp/x)`id`;&|\n#SBATCH --nodes=9\\"
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


def script(
    *launches: ScriptLaunch, run_dir: str = "/runs/1", connect: tuple[str, ...] = (),
    **environment: str,
) -> str:  # fmt: skip
    options = build_options(Request(2, partition="normal"), 5, Path(run_dir) / "job-1")
    return script_text(
        Script("20261122T000000Z-abc", run_dir, "job-1", options, environment, launches, connect)
    )


def start(
    *argv: str, subnet: str | None = None, alone: bool = False, env: dict[str, str] | None = None
) -> ScriptLaunch:
    return ScriptLaunch(0, "job-1/cases-1.txt", 60, LaunchCommand(argv, env or {}), subnet, alone)


PORTS = ScriptLaunch(
    0, "job-1/cases-1.txt", 60,
    LaunchCommand(
        ("mpiexec", "-n", "2", "engine"),
        {"UCX_NET_DEVICES": EACH_PORTS, "FI_VERBS_DEVICE_NAME": ONE_DEVICE, "RAILS": EACH_RAILS},
    ),
    technology="infiniband",
)  # fmt: skip
EVERYTHING = (
    PORTS,
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
        ["sh", "-c", f'launch() {{ shift 2; "$@"; }}\n{NAMES}\n{line}'],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    whole = {ONE_DEVICE: "S", ONE_UNIT: "S"}  # as variables only
    values = [env.get("A", ""), env.get("B", "")]
    expected = [*(whole.get(value, value) for value in values), *argv]
    assert shown.decode("utf-8", "surrogateescape").split("\0")[:-1] == [
        _PLACEHOLDER.sub("S", word) for word in expected
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


def stand_in(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def run_job(tmp_path: Path, *launches: ScriptLaunch, connect: tuple[str, ...] = ()) -> None:
    """Run a job's script on this machine; stand-ins answer for Slurm and for ip."""
    bin_, run = tmp_path / "bin", tmp_path / "run"
    (run / "raw").mkdir(parents=True)
    (run / "job-1").mkdir()
    (run / "job-1" / "cases-1.txt").write_text("end\n")
    (run / "job-1" / "probe.sh").write_text(":\n")
    stand_in(bin_, "scontrol", 'case $1 in show) printf "c1\\nc2\\n" ;; esac')
    (run / "job-1" / "job.sh").write_text(script(*launches, run_dir=str(run), connect=connect))
    env = {"PATH": f"{bin_}:/usr/bin:/bin", "SLURM_JOB_NODELIST": "c[1-2]", "SLURM_JOB_ID": "7"}
    subprocess.run(["sh", str(run / "job-1" / "job.sh")], env=env, check=True, timeout=60)


#: What the step of all nodes prints: two rails on each, named differently on c2, and RoCE on c1.
NODE_PORTS = """\
c1 infiniband mlx5_0:1
c1 infiniband mlx5_1:1
c1 roce-v2 mlx5_2:1
c2 infiniband mlx5_0:1
c2 infiniband ibp9:1
"""


def test_a_job_measures_each_network_of_ports_that_all_nodes_have(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin", "srun", f"cat <<'END'\n{NODE_PORTS}END")
    stand_in(tmp_path / "bin", "mpiexec", "env | grep -E '^(UCX|FI_|RAILS)' | sort")
    run_job(tmp_path, PORTS)
    raw = tmp_path / "run" / "raw"
    assert (raw / "attempt-1" / "ports").read_text().splitlines() == [
        "infiniband 2 mlx5_0:1,mlx5_1:1,ibp9:1 mlx5_0,mlx5_1,ibp9",
        "infiniband 1 mlx5_0:1 mlx5_0",
        "infiniband 1 mlx5_1:1,ibp9:1 mlx5_1,ibp9",
    ]
    said = [
        (folder / "stdout.jsonl").read_text().split() for folder in sorted(raw.glob("launch-*"))
    ]
    assert said == [
        ["RAILS=2", "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,ibp9:1"],
        ["FI_VERBS_DEVICE_NAME=mlx5_0", "RAILS=1", "UCX_NET_DEVICES=mlx5_0:1"],
        ["RAILS=1", "UCX_NET_DEVICES=mlx5_1:1,ibp9:1"],
    ]
    pins = [(folder / "subnet").read_text().strip() for folder in sorted(raw.glob("launch-*"))]
    assert pins[1] == "infiniband mlx5_0:1"


#: Each step prints that c1 listens; at first its port is used by another program.
CONNECTING = """\
case $* in
*"ip -o"*) printf "c1 10.0.0.1/24\\nc2 10.0.0.2/24\\n"; exit ;;
*fabricgauge-connect*) ;;
*) exit ;;
esac
echo try >>TRIES
[ "$(wc -l <TRIES)" -gt TAKEN ] || error="Address already in use" phase=connect
for task in 1 0; do
    echo "$task: {\\"listening\\":\\"10.0.0.$((task + 1))\\",\\"error\\":\\"$error\\"}"
    echo "$task: {\\"to\\":$((2 - task)),\\"phase\\":\\"${phase:-done}\\"}"
done
"""


@pytest.mark.parametrize(("taken", "tries", "late"), [(0, 1, False), (1, 2, False), (9, 3, True)])
def test_a_port_that_is_taken_accuses_no_network(
    tmp_path: Path, taken: int, tries: int, late: bool
) -> None:
    counted = tmp_path / "tries"
    text = CONNECTING.replace("TRIES", str(counted)).replace("TAKEN", str(taken))
    stand_in(tmp_path / "bin", "srun", text)
    stand_in(tmp_path / "bin", "mpiexec", "echo measured")
    connect = ("/x/fabricgauge-connect", "40000", "100")
    run_job(tmp_path, start("mpiexec", subnet="10.0.0.0/24"), connect=connect)
    raw = tmp_path / "run" / "raw"
    assert len(counted.read_text().split()) == tries
    place = raw / "attempt-1" / "connect-1"
    assert (place / "late").exists() == late
    lines = (place / "c2.txt").read_text().splitlines()
    assert [line.partition(":")[0] for line in lines] == ['{"listening"', '{"to"']
    assert not (raw / "attempt-1" / "dead").exists()
    assert [path.read_text() for path in raw.glob("launch-*/stdout.jsonl")] == ["measured\n"]


ADDRESSES = {
    4: "2: eth0    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0\\\\       valid_lft forever\n"
    "3: docker0    inet 172.17.0.1/16 scope global docker0\\\\ valid_lft forever\n",
    6: "2: eth0    inet6 fd00:1::1/64 scope global \\\\       valid_lft forever\n"
    "4: eth1    inet6 fd00:2::1/64 scope global \\\\       valid_lft forever\n"
    "4: eth1    inet6 fd00:2::9/64 scope global temporary dynamic \\\\  valid_lft 9sec\n",
}


@pytest.mark.parametrize(
    ("families", "subnets"),
    [((4,), ["10.0.0.1/24"]), ((4, 6), ["10.0.0.1/24", "fd00:2::1/64"])],
)
def test_a_job_finds_ipv6_only_where_there_is_no_ipv4(
    tmp_path: Path, families: tuple[int, ...], subnets: list[str]
) -> None:
    ip = "\n".join(f"-{version}) printf '{text}' ;;" for version, text in ADDRESSES.items())
    stand_in(tmp_path / "bin", "ip", f"case $2 in\n{ip}\nesac")
    stand_in(tmp_path / "bin", "scontrol", 'printf "c1\\n"')
    written = script_text(Script(
        "id", str(tmp_path), "job-1", (), {}, (EVERYTHING[1],), families=families
    ))  # fmt: skip
    begin = written[: written.index("begin job-1")]
    (tmp_path / "raw").mkdir()
    done = subprocess.run(
        ["sh", "-c", f"{begin}\nbegin job-1\nfind_subnets '{' '.join(map(str, families))}'"],
        env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "SLURM_JOB_NODELIST": "c1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "raw" / "attempt-1" / "subnets").read_text().split() == subnets


def carried_job(
    tmp_path: Path, library: str, job: str = "job-1", bases: tuple[str, ...] = ()
) -> Script:
    programs = archive({"fabricgauge-engine": (b"#!/bin/sh\necho measured\n", 0o700)})
    folder = f"{FOUND_BASE}/{hashlib.sha256(programs).hexdigest()[:16]}"
    files = archive({
        f"{job}/cases-1.txt": (b"end\n", 0o600), f"{job}/probe.sh": (b"echo probed\n", 0o600),
    })  # fmt: skip
    command = LaunchCommand(
        (FOUND_MPIEXEC, "env", f"LD_LIBRARY_PATH={folder}/lib", f"{folder}/fabricgauge-engine"), {}
    )
    return Script(
        "20261126T000000Z-abc", str(tmp_path / "no" / "such" / "run"), job, (), {},
        (ScriptLaunch(1, f"{job}/cases-1.txt", 60, command, "10.0.0.0/24"),),
        carried=Carried(
            files, programs, bases or (str(tmp_path / "node"),), "carried",
            ("libmpi.so.12", "libmpich.so.12"), library, ("mpiexec.hydra",),
        ),
    )  # fmt: skip


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_finds_nothing_in_a_carried_job(tmp_path: Path) -> None:
    written = script_text(carried_job(tmp_path, "/lib/libmpi.so.12"))
    done = subprocess.run(
        ["shellcheck", "-"], input=written, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


#: srun runs the command here, with its input; the options come first.
LABELLING = """\
while case $1 in -*) true ;; *) false ;; esac; do
    [ "$1" != --label ] || label=0
    shift
done
[ "${label:-}" ] || exec "$@"
"$@" | sed "s/^/0: /"
"""
OF_MPICH = b"MPICH Version: \0004.0.2\0"


def run_carried(
    tmp_path: Path, others: str = "", bases: tuple[str, ...] = (), launcher: str = "mpiexec.hydra",
    soname: str = "libmpi.so.12", shown: str = "",
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a carried job, whose first node is this machine; ``others`` is what other nodes print."""
    bin_, library = tmp_path / "bin", tmp_path / "mpi" / "libmpi.so.12"
    library.parent.mkdir()
    library.write_bytes(OF_MPICH)
    tasks = {0, *(int(line[0]) for line in others.splitlines())}
    nodes = "\\n".join(f"c{1 + task}" for task in sorted(tasks))
    stand_in(
        bin_, "scontrol",
        f'case "$*" in *oneliner*) echo "{shown}" ;; show*) printf "{nodes}\\n" ;;'
        f' *) echo "$@" >{tmp_path}/told ;; esac',
    )  # fmt: skip
    stand_in(bin_, "srun", f"{LABELLING}cat <<'END OF OTHERS'\n{others}\nEND OF OTHERS")
    stand_in(bin_, "mpiexec.hydra", 'exec "$@"')
    written, job = carried_job(tmp_path, str(library), bases=bases), tmp_path / "job.sh"
    assert written.carried
    carried = msgspec.structs.replace(written.carried, launchers=(launcher,), sonames=(soname,))
    job.write_text(script_text(msgspec.structs.replace(written, carried=carried)))
    env = {
        "PATH": f"{bin_}:/usr/bin:/bin", "SLURM_JOB_NODELIST": "c[1-3]", "SLURM_JOB_ID": "7",
        "SLURMD_NODENAME": "c1",
    }  # fmt: skip
    return subprocess.run(["sh", str(job)], env=env, capture_output=True, text=True, cwd="/")


@pytest.mark.parametrize(
    ("others", "unable"),
    [
        ("1: fail /x cannot hold it: No space left", {"c2": "/x cannot hold it: No space left"}),
        ("1: have /x", {"c2": "the copy of the programs was broken off"}),
        ("1: version MPICH 4.0.2 3.4 \n1: end", {}),
        ("1: version \n1: end", {}),
        (
            "1: version MPICH 4.1.2\n1: end",
            {"c2": "its MPI is MPICH 4.1.2, that of most nodes is MPICH 4.0.2"},
        ),
        (
            "1: version Intel MPI 2021.9\n1: end\n2: version Intel MPI 2021.9 \n2: end",
            {"c1": "its MPI is MPICH 4.0.2, that of most nodes is Intel MPI 2021.9"},
        ),
    ],
    ids=["no room", "broken off", "alike", "unknown", "other version", "other family"],
)
def test_no_launch_is_made_with_a_node_that_cannot_take_part(
    tmp_path: Path, others: str, unable: dict[str, str]
) -> None:
    done = run_carried(tmp_path, others)
    assert done.returncode == 0, done.stderr
    raw = tmp_path / "node" / "20261126T000000Z-abc" / "raw"
    assert bool(list(raw.glob("launch-*"))) == (not unable)
    (attempt,) = find_attempts(raw)
    assert attempt.ended and attempt.unable() == unable


def test_a_first_node_without_room_in_one_folder_uses_the_next_on_all_nodes(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    bases = (str(tmp_path / "file" / "base"), str(tmp_path / "second base"))
    done = run_carried(tmp_path, bases=bases)
    assert done.returncode == 0, done.stderr
    raw = tmp_path / "second base" / "20261126T000000Z-abc" / "raw"
    assert (raw / "launch-01-1" / "stdout.jsonl").read_text() == "measured\n"
    (attempt,) = find_attempts(raw)
    assert attempt.unable() == {}
    place = attempt.facts()["Place of the carried programs"]
    assert place.startswith(f"{bases[1]}, because on c1 {bases[0]}") and "Not a directory" in place


def test_a_missing_library_is_told_once_and_leaves_no_programs(tmp_path: Path) -> None:
    bases = tuple(str(tmp_path / name) for name in ("first", "second"))
    done = run_carried(tmp_path, bases=bases, soname="libnone.so.12")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "second").exists()
    place = tmp_path / "first" / "20261126T000000Z-abc"
    assert list((tmp_path / "first").iterdir()) == [place]
    (attempt,) = find_attempts(place / "raw")
    assert attempt.unable()["c1"].count("no library of the MPI") == 1
    assert "Place of the carried programs" not in attempt.facts()


def test_a_usual_place_that_cannot_start_programs_is_told_with_its_node(tmp_path: Path) -> None:
    # Nothing there can be started; no other folder can be made.
    stand_in(tmp_path / "bin", "chmod", 'case $* in *.try-*) exit 0 ;; esac; exec /bin/chmod "$@"')
    (tmp_path / "file").touch()
    bases = (str(tmp_path / "first"), str(tmp_path / "file" / "base"))
    done = run_carried(tmp_path, bases=bases)
    assert done.returncode == 0, done.stderr
    (attempt,) = find_attempts(tmp_path / "first" / "20261126T000000Z-abc" / "raw")
    assert "forbids execution" in attempt.unable()["c1"]
    assert "Place of the carried programs" not in attempt.facts()


def test_a_start_that_measures_takes_back_what_an_earlier_one_told(tmp_path: Path) -> None:
    run_carried(tmp_path, shown="JobId=7 Comment=fabricgauge: c1: no room; NodeList=c1")
    assert (tmp_path / "told").read_text() == "update JobId=7 Comment=fabricgauge\n"


@pytest.mark.parametrize(
    ("launcher", "reason"),
    [("mpiexec.hydra", "Not a directory"), ("no-such-launcher", "no launcher of the MPI")],
)
def test_a_first_node_that_can_hold_nothing_tells_slurm_why(
    tmp_path: Path, launcher: str, reason: str
) -> None:
    (tmp_path / "file").touch()
    bases = (str(tmp_path / "file" / "base"), str(tmp_path / "file"))
    done = run_carried(tmp_path, bases=bases, launcher=launcher)
    assert done.returncode == 1
    told = (tmp_path / "told").read_text()
    assert told.startswith("update JobId=7 Comment=fabricgauge: c1: ") and reason in told

    # The head reads it, and another job leaves the node out.
    shown = told.removeprefix("update ").rstrip()
    stand_in(tmp_path / "bin", "scontrol", f"echo '{shown} NodeList=c[1-3] BatchHost=c1'")
    directory = RunDirectory.create(tmp_path / "runs")
    stopping = Stopping(0.1, 1.0)
    append_job(directory, BatchJob("7", "job-1", "", (), "quick", stopping, check_data=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        assert fetch_results(directory, Request(3), bases, {"7": JobState("FAILED")}) == ()
    (attempt,) = find_attempts(directory.path / "raw")
    assert attempt.gave_up and attempt.nodes == ("c1", "c2", "c3")
    assert list(attempt.unable()) == ["c1"] and reason in attempt.unable()["c1"]


@pytest.mark.parametrize(
    ("root", "point", "is_own"),
    [
        ("/fgcontainer/c1/4711/.4711", "/tmp", True), ("/4711/.4711", "/tmp", True),
        ("/slurm.4711.0/tmp", "/tmp", True), ("/", "/tmp", False),
        ("/14711/.14711", "/tmp", False), ("/4711/.4711", "/scratch", False),
    ],
)  # fmt: skip
def test_a_folder_of_the_job_alone_is_known_by_its_mount(
    tmp_path: Path, root: str, point: str, is_own: bool
) -> None:
    mounts = (
        f"309 308 0:23 / /dev/shm rw - tmpfs tmpfs rw\n322 292 0:64 {root} {point} rw - tmpfs x\n"
    )
    (tmp_path / "mountinfo").write_text(mounts)
    steps = resources.files("fabricgauge.features.jobs.slurm").joinpath("steps.sh").read_text()
    done = subprocess.run(
        ["sh", "-c", f"{steps}\ntmp_is_of_job {tmp_path / 'mountinfo'}"],
        env={"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "4711"}, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) == is_own


@pytest.mark.parametrize("run_dir", ["/no/such/run", ""])
def test_a_carried_job_needs_no_folder_of_the_head(run_dir: str, tmp_path: Path) -> None:
    """The MPI's library has Debian's name here, and the engine wants MPICH's."""
    bin_, library = tmp_path / "bin", tmp_path / "mpi" / "libmpich.so.12"
    library.parent.mkdir()
    library.write_bytes(b"MPICH Version: 4.0.2")
    stand_in(bin_, "scontrol", 'case $1 in show) printf "c1\\n" ;; esac')
    stand_in(bin_, "srun", LABELLING)
    stand_in(bin_, "mpiexec.hydra", 'readlink "${2#*=}/libmpi.so.12"; exec "$@"')
    written = carried_job(tmp_path, str(library.with_name("libmpi.so.12")))
    written = msgspec.structs.replace(written, run_dir=run_dir, slowness=3)
    job = tmp_path / "job.sh"
    job.write_text(script_text(written))
    env = {
        "PATH": f"{bin_}:/usr/bin:/bin", "SLURM_JOB_NODELIST": "c1", "SLURM_JOB_ID": "7",
        "SLURMD_NODENAME": "c1",
    }  # fmt: skip
    done = subprocess.run(["sh", str(job)], env=env, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    place = tmp_path / "node" / "20261126T000000Z-abc"
    said = (place / "raw" / "launch-01-1" / "stdout.jsonl").read_text().split()
    assert said == [str(library), "measured"]
    assert (place / "raw" / "attempt-1" / "end").exists()
    # The programs are gone from the node, the results are there to be fetched.
    assert [entry.name for entry in (tmp_path / "node").iterdir()] == [place.name]

    # The head fetches them: its srun is the stand-in above.
    directory = RunDirectory(tmp_path / "runs" / place.name)
    (directory.path / "raw").mkdir(parents=True)
    stand_in(bin_, "scontrol", 'echo "JobId=7 BatchHost=c1 X=y"')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", env["PATH"])
        states = {"7": JobState("COMPLETED")}
        remains = fetch_results(directory, Request(2), (str(tmp_path / "node"),), states)
    assert remains == () and not (tmp_path / "node").exists()
    assert (directory.path / "raw" / "launch-01-1" / "exit").read_text() == "0\n"

    # A later job of the run on this node replaces nothing of the first.
    later = carried_job(tmp_path, str(library.with_name("libmpi.so.12")), "job-2")
    job.write_text(script_text(later))
    env["SLURM_JOB_ID"] = "8"
    stand_in(
        bin_, "scontrol",
        'case $2 in hostnames) echo c1 ;; *) echo "JobId=8 BatchHost=c1 X=y" ;; esac',
    )  # fmt: skip
    done = subprocess.run(["sh", str(job)], env=env, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", env["PATH"])
        states = {"7": JobState("COMPLETED"), "8": JobState("COMPLETED")}
        assert fetch_results(directory, Request(2), (str(tmp_path / "node"),), states) == ()
    attempts = {attempt.number: attempt.job for attempt in find_attempts(directory.path / "raw")}
    assert attempts == {1: "7", 101: "8"}
    for launch in ("launch-01-1", "launch-01-101"):
        assert (directory.path / "raw" / launch / "exit").read_text() == "0\n"


@pytest.mark.parametrize(
    "name",
    [
        "../raw/a/b",
        "/etc/passwd",
        "raw/../x/y",
        "raw/a",
        "verdicts.json",
        "raw/a/b/c/d",
        "raw/.a/b",
    ],
)
def test_only_results_are_fetched(name: str, tmp_path: Path) -> None:
    assert not is_result(name)
    directory = RunDirectory.create(tmp_path / "runs")
    file = tmp_path / "results.tar.gz"
    file.write_bytes(archive({name: (b"x", 0o600)}))
    unpack(directory, file)
    assert not [path for path in (directory.path / "raw").rglob("*") if path.is_file()]
    file.write_bytes(b"no archive \0")
    with pytest.raises(CannotRun, match="not unpacked"):
        unpack(directory, file)
