"""Where a launch command's own options start its ranks."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.command import (
    LONGEST,
    OSU_ITERATIONS,
    OSU_LARGEST_BYTES,
    command_in,
    osu_number,
    rank_nodes,
    request_in,
)
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve

ONE, TWO = ("one node",) * 2, ("node 0", "node 1")


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("$ srun -N1 -n2 --mpi=pmix ./pt2pt/osu_bw", ONE),
        ("srun --nodes=1 --ntasks=2 osu_bw", ONE), ("srun -N 1-1 -n 2 osu_bw", ONE),
        ("flux run -N1 -n2 osu_bw", ONE),
        ("mpirun -np 2 --host c1:2 ./osu_bw", ("c1", "c1")),
        ("mpirun -np 2 -H c1,c1 ./osu_bw", ("c1", "c1")),
        ("mpirun -np 2 -H localhost,127.0.0.1 osu_bw", ("localhost", "localhost")),
        ("mpirun -np 2 -H a,a.example.org osu_bw", ("a", "a")),
        ("mpirun -np 2 --host c1:2,c2:2 osu_bw", ("c1", "c1")),
        ("mpiexec -hosts c1 -n 2 osu_latency", ("c1", "c1")),
        ("mpiexec -n 2 -ppn 2 -hosts c1,c2 osu_latency", ("c1", "c1")),
        ("mpiexec.hydra -n 2 -perhost 2 osu_latency", ("node 0", "node 0")),
        ("mpirun -np 2 -npernode 2 osu_bw", ("node 0", "node 0")),
        ("mpirun -np 2 -N 2 osu_bw", ("node 0", "node 0")),
        ("mpirun -np 2 --map-by ppr:2:node osu_bw", ("node 0", "node 0")),
        ("mpirun -np 2 --map-by ppr:2:socket osu_bw", ("node 0", "node 0")),
        ("mpirun -np 2 --hostfile <(echo c1 slots=2) osu_bw", ("c1", "c1")),
        ("mpirun_rsh -np 2 c1 c1 MV2_SMP=1 ./osu_bw", ("c1", "c1")),
        ("mpirun -np 1 -H c1 osu_bw : -np 1 -H c1 osu_bw", ("c1", "c1")),
        ("[me@head ~]$ UCX_TLS=rc mpirun -np 2 --host c1:2 osu_bw", ("c1", "c1")),
        ("aprun -n 2 -N 2 ./osu_bw", ("node 0", "node 0")),
        ("+ jsrun -n 2 -r 2 -a 1 osu_bw", ("node 0", "node 0")),
        ("jsrun -n2 -r2 -a1 -c1 ./osu_bw", ("node 0", "node 0")),
        ("jsrun --nrs 1 --tasks_per_rs=2 ./osu_bw", ("node 0", "node 0")),
    ],
)  # fmt: skip
def test_a_command_that_starts_both_ranks_on_one_node(text: str, nodes: tuple[str, ...]) -> None:
    command = command_in(text)
    assert command is not None
    assert rank_nodes(command, 2) == nodes


@pytest.mark.parametrize(
    "text",
    [
        "mpirun -np 2 ./osu_bw", "mpirun -np 2 --hostfile hosts ./osu_bw",
        "srun -n 2 osu_bw", "srun -N 2 -n 2 osu_bw", "srun -N2 osu_bw",
        "srun --ntasks-per-node=2 -n 2 osu_bw",  # a maximum beside --ntasks
        "srun -n 2 -w c1 osu_bw",  # at least that node
        "mpirun -np 2 -H c1,c2 osu_bw", "mpiexec -n 2 -hosts c1,c2 osu_bw",
        "mpiexec -n 2 -ppn 1 osu_bw", "mpirun -np 2 -N 1 osu_bw", "mpirun -np 2 --bynode osu_bw",
        "mpirun -np 2 --map-by ppr:1:node osu_bw", "mpirun -np 2 --map-by ppr:1:socket osu_bw",
        "mpirun -np 2 --map-by node --host c1:2,c2:2 osu_bw",
        "mpirun -np 2 --host c1:2,c2:2 --map-by core:span osu_bw",
        "mpirun -np 2 --host c1:2,c2:2 --rankfile ranks osu_bw",
        "mpirun -np 2 numactl -N 1 ./osu_bw", "mpirun -np 2 taskset -c 1 osu_bw",
        "mpirun -np 2 singularity exec -H c1 image.sif osu_bw",
        "mpirun -np 2 -nolocal osu_bw", "mpirun -np 2 osu_bw -N 2",
        "mpirun -np 1 -H c1 osu_bw : -np 1 -H c2 osu_bw", "mpirun_rsh -np 2 c1 c2 ./osu_bw",
        "mpirun -np 99999999 -ppn x osu_bw",
        "jsrun -n 2 -r 1 -a 1 ./osu_bw", "jsrun -n2 -a1 ./osu_bw", "jsrun -n 2 -r x -a 1 osu_bw",
        "jsrun -n 4 -r 2 -a 1 -d cyclic osu_bw", "jsrun -p 2 osu_bw",
    ],
)  # fmt: skip
def test_a_command_that_leaves_the_nodes_open_or_takes_two(text: str) -> None:
    command = command_in(text)
    nodes = rank_nodes(command, 2) if command else ()
    assert len(set(nodes)) != 1, nodes


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("mpirun -np 4 --host c1:2,c2:2 osu_mbw_mr", ("c1", "c1", "c2", "c2")),
        ("mpirun -np 4 --host c1:2,c2:2 --map-by node osu_mbw_mr", ("c1", "c2", "c1", "c2")),
        ("mpirun -np 4 -ppn 2 osu_mbw_mr", ("node 0", "node 0", "node 1", "node 1")),
        ("srun -N2 -n4 -m cyclic osu_mbw_mr", ("node 0", "node 1", "node 0", "node 1")),
        ("srun -N2 -n4 osu_mbw_mr", ()),
        ("jsrun -n4 -r2 -a1 osu_mbw_mr", ("node 0", "node 0", "node 1", "node 1")),
    ],
)
def test_the_nodes_of_several_pairs(text: str, nodes: tuple[str, ...]) -> None:
    command = command_in(text)
    assert command is not None
    assert rank_nodes(command, 4) == nodes


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("mpirun -n 4 -host c1:2,c2:2 osu_allreduce", ("c1", "c1", "c2", "c2")),
        ("mpirun -host c1:2,c2:2 osu_allreduce", ()),
        ("mpirun -n 4 osu_allreduce", ()),
        ("mpirun -n 4 -host c1:4 osu_allreduce", ("c1",) * 4),
        ("mpirun -host c1:4 osu_allreduce", ("c1",) * 2),
        ("srun -N1 osu_allreduce", ONE),
    ],
)
def test_the_nodes_of_a_collective_whose_table_has_no_number_of_ranks(
    text: str, nodes: tuple[str, ...]
) -> None:
    command = command_in(text)
    assert command is not None
    assert rank_nodes(command, 0) == nodes


@pytest.mark.parametrize(
    "text",
    ["mpirun -np 2 --host c1:2 ./application", "# OSU MPI Bandwidth Test v7.5", "osu_bw",
     "mpirun -np 2 " + "x" * LONGEST + " osu_bw"],
)  # fmt: skip
def test_other_lines_are_no_command(text: str) -> None:
    assert command_in(text) is None


TABLE = (
    "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n65536  9110.1\n1048576  11150.4\n"
)


def nodes_of(text: str) -> tuple[str, ...]:
    """The nodes of the ranks of a log's last table."""
    found = [one for one in read([(text + TABLE).encode()], "log") if isinstance(one, SuiteCurve)]
    return found[-1].evidence.rank_nodes


RUN = "mpirun -np 2 ./osu_bw\n"


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (f"#!/bin/sh\n#SBATCH -N1\n#SBATCH -n 2\n{RUN}", ONE),
        (f"#SBATCH --nodes=1 --time=5\n{RUN}", ONE), ("#SBATCH -N 1-1\nsrun ./osu_bw\n", ONE),
        ("#SBATCH -N 1\n", ONE), (f"$ salloc -N1 -n2\n{RUN}", ONE),
        (f"$ srun -N 1 -n 2 --pty /bin/bash\n{RUN}", ONE),
        ("salloc -N1 mpirun -np 2 ./osu_bw\n", ONE),
        (f"#PBS -l nodes=1:ppn=2\n{RUN}", ONE), (f"#PBS -l select=1:ncpus=4\n{RUN}", ONE),
        (f"#SBATCH -N2\n#SBATCH --ntasks-per-node=2\n{RUN}", ("node 0",) * 2),
        (f"#SBATCH --nodes=2 --ntasks-per-node=1\n{RUN}", TWO),
        (f"export I_MPI_PERHOST=2\n{RUN}", ("node 0",) * 2),
        ("I_MPI_PERHOST=2 mpirun -n 2 ./osu_bw\n", ("node 0",) * 2),
        ("mpirun -genv I_MPI_PERHOST 1 -n 2 ./osu_bw\n", TWO),
        ("mpirun -perhost 2 -n 2 ./osu_bw\n", ("node 0",) * 2),
    ],
)  # fmt: skip
def test_a_job_that_asks_for_its_ranks_nodes(text: str, nodes: tuple[str, ...]) -> None:
    assert nodes_of(text) == nodes


@pytest.mark.parametrize(
    "text",
    [
        RUN, f"#SBATCH -N2\n{RUN}", f"#SBATCH -N 1-2\n{RUN}", f"#SBATCH --nodelist=c1\n{RUN}",
        f"#SBATCH -n 2 --ntasks-per-node=2\n{RUN}",  # a maximum beside --ntasks
        f"#SBATCH --ntasks-per-node=2\n#SBATCH -n 2\n{RUN}",
        "#SBATCH -N2 --ntasks-per-node=2\nsrun -n 2 ./osu_bw\n",
        "#SBATCH -N2 --ntasks-per-node=2\nmpirun -np 2 --hostfile h ./osu_bw\n",
        "#SBATCH -N2 --ntasks-per-node=2\nmpirun -np 2 --map-by node ./osu_bw\n",
        "export I_MPI_PERHOST=2\nmpirun -n 2 -f hosts ./osu_bw\n",
        "export I_MPI_PERHOST=2\nmpirun -n 2 -hosts c1,c2 ./osu_bw\n",
        "export I_MPI_PERHOST=2\nsrun -n 2 ./osu_bw\n",
        "#SBATCH -N1\nmpirun -np 2 -H c1,c2 ./osu_bw\n", "#SBATCH -N1\nsrun -N 2 ./osu_bw\n",
        f"$ salloc -N1\n$ exit\n$ salloc -N2\n{RUN}",
        f"##SBATCH -N1\n{RUN}", f"# sbatch -N1 is wrong\n{RUN}",
    ],
)  # fmt: skip
def test_a_job_that_leaves_its_ranks_nodes_open(text: str) -> None:
    assert len(set(nodes_of(text))) != 1


@pytest.mark.parametrize(
    ("text", "program", "count"),
    [
        ("mpirun -n 2 ./osu_bw && mpirun -n 2 ./osu_latency -i 1", "osu_bw", None),
        ("mpirun -n 2 ./osu_bw | tee -i 2", "osu_bw", None),
        ("mpirun -n 2 ./osu_bw|tee -i 2", "osu_bw", None),
        ("mpirun -n 2 ./osu_bw || srun ./osu_bw -i 1", "osu_bw", None),
        ("mpirun -n 2 ./osu_bw; srun ./osu_bw -i 1", "osu_bw", None),
        ("mpirun -n 2 ./osu_bw & srun ./osu_bw -i 1", "osu_bw", None),
        ("mpirun hostname && mpirun -n 2 ./osu_bw -i 2 2>&1 | tee -i 3", "osu_bw", 2),
        ("mpirun -x 'A=1;2' -H `head -2 a | paste` ./osu_bw 2>&1 -i 2", "osu_bw", 2),
        ("mpirun --hostfile <(echo c1; echo c2) ./osu_bw -i 2", "osu_bw", 2),
    ],
)  # fmt: skip
def test_a_command_ends_where_its_shell_ends_it(text: str, program: str, count: int | None) -> None:
    command = command_in(text)
    assert command is not None
    assert (command.program, osu_number(command, OSU_ITERATIONS)) == (program, count)


@given(st.text(st.sampled_from("ab -=/.,'\"\\\t<>#é"), max_size=30))
def test_a_commands_words_are_those_of_a_shell(text: str) -> None:
    line = f"srun {text} osu_bw"
    try:
        words = tuple(shlex.split(line))
    except ValueError:
        words = tuple(line.split())
    command = command_in(line)
    assert (command.words if command else ()) == (words if "osu_bw" in words else ())


def test_the_lines_that_decide_are_the_evidence() -> None:
    text = f"#SBATCH -N1\n{RUN}{TABLE}".encode()
    (curve,) = [one for one in read([text], "log") if isinstance(one, SuiteCurve)]
    assert curve.evidence.command == "#SBATCH -N1; mpirun -np 2 ./osu_bw"
    assert "#SBATCH -N1" in curve.inside_node


def test_other_lines_ask_for_nothing() -> None:
    assert request_in("salloc: Granted job allocation 4711") is None
    assert request_in("$ srun -n 2 osu_bw") is None


@pytest.mark.parametrize(
    ("text", "largest"),
    [
        ("mpirun -np 2 osu_bw -m 4096", 4096), ("mpirun -np 2 osu_latency -m1", 1),
        ("srun osu_bw -m 64:1048576 -i 10", 1048576), ("srun osu_bw --message-size=8:64", 64),
        ("srun osu_bw -x 10", None), ("srun -m cyclic osu_bw", None), ("srun osu_bw -m 64:", None),
        ("mpirun -np 2 IMB-MPI1 -msglog 18:19", None),
    ],
)  # fmt: skip
def test_the_largest_message_that_a_command_asks_for(text: str, largest: int | None) -> None:
    command = command_in(text)
    assert command is not None
    assert osu_number(command, OSU_LARGEST_BYTES) == largest


@pytest.mark.parametrize(
    ("options", "whole"), [("-m 1048576", True), ("-m 2000000", True), ("-m 4194304", False)]
)
def test_a_table_that_ends_where_its_command_says_is_whole(options: str, whole: bool) -> None:
    text = f"mpirun -np 2 -H c1,c2 ./osu_bw {options}\n{TABLE}".encode()
    (curve,) = [one for one in read([text], "log") if isinstance(one, SuiteCurve)]
    assert (curve.cut_off == "") == whole
