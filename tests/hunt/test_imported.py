"""A hunt for a false PASS in others' logs: no log that fools a reader may pass."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from tests.hunt import logs

from fabricgauge.cli.verbs import cli
from fabricgauge.judge.interface import Context
from fabricgauge.judge.rules import stability
from fabricgauge.logs.read_files import read_file
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import IMPORTED, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve

HOSTS = ("--hosts", "c[1-2]")
FIXTURES = Path(__file__).parents[1] / "fixtures"


class Trick(NamedTuple):
    """A log that must not pass, the network it is said to be of, and further words."""

    text: str
    network: str | None = "edr"
    words: tuple[str, ...] = HOSTS


def on_one_node(command: str) -> Trick:
    return Trick(logs.osu_bw(before=f"+ {command} ./osu_bw\n"), words=())


def lines_before(text: str) -> Trick:
    return Trick(logs.osu_bw(before=text), words=())


NCCL = "+ mpirun -np 2 ./all_reduce_perf -b 8M -e 8G\n"
UCX = "[1700000000.0] [c1:1001 :0]  ucp_worker.c:1855 UCX  INFO    ep_cfg"
LARGE = tuple(size for size in logs.EDR_MB_S if size >= 1 << 16)
RAGGED = {1 << 20: 12280.4, 1 << 21: 12285.0, 1 << 22: 12290.1}

#: Titles of OSU for collectives on hosts and on GPUs, whose bytes all cross to another node.
COLLECTIVES = (
    "MPI Allreduce", "MPI Allgather", "MPI All-to-All Personalized Exchange", "MPI Broadcast",
    "MPI-CUDA Allreduce", "NCCL-CUDA Allreduce",
)  # fmt: skip

SOUND: Mapping[str, Trick] = {
    "osu_bw": Trick(logs.osu_bw()),
    "osu_bw and osu_latency": Trick(logs.osu_bw() + "\n" + logs.osu_latency()),
    "perftest": Trick(logs.perftest(97.6)),
    "nccl": Trick(logs.nccl(11.9, "+ mpirun -np 2 ./all_reduce_perf -b 8M -e 8G\n"), words=()),
    "imb pingpong": Trick(logs.imb_pingpong()),
    "UCX: memory to itself, InfiniBand to the other": lines_before(
        f"{UCX}[0]: tag(self/memory cma/memory)\n{UCX}[1]: tag(rc_mlx5/mlx5_0:1)\n"
    ),
    "UCX: memory to one rank, InfiniBand to another": lines_before(
        f"{UCX}[1]: tag(sysv/memory cma/memory)\n{UCX}[2]: tag(rc_mlx5/mlx5_0:1)\n"
    ),
    "a job of two nodes": lines_before("SLURM_JOB_NUM_NODES=2\n+ srun -n 2 ./osu_bw\n"),
    "carriage returns": Trick(logs.osu_bw().replace("\n", "\r\n")),
    "colours": Trick(f"\x1b[32m{logs.osu_bw()}\x1b[0m"),
    "eight pairs of sixteen nodes": Trick(
        logs.osu_mbw_mr(
            [(1 << 20, 8 * 12280.4, 8 * 11711.5), (1 << 22, 8 * 12290.1, 8 * 2930.2)], pairs=8
        ),
        words=("--hosts", "c[1-16]"),
    ),
    "two nodes in the command": Trick(
        logs.osu_bw(before="+ mpirun -np 2 --host c1,c2 ./osu_bw\n"), words=()
    ),
    "hosts by the names of their adapters": Trick(
        logs.osu_bw(before="+ mpirun -np 2 --host c1-ib0,c2.example.org ./osu_bw -i 20 -x 2\n")
    ),
    "hosts that a variable has": Trick(
        logs.osu_bw(before="+ mpirun -np 2 --host $A,${B} ./osu_bw\n")
    ),
    **{
        title: Trick(logs.osu_bw() + "\n" + logs.osu_collective(title, 1.2))
        for title in COLLECTIVES
    },
    "a non-blocking collective": Trick(logs.osu_bw() + "\n" + logs.osu_iallreduce(1.2)),
    "more hosts than the two ranks need": Trick(logs.osu_bw(), words=("--hosts", "c[1-16]")),
    "two pairs of two nodes, rank by rank": Trick(
        logs.osu_mbw_mr([(1 << 20, 12280.4, 11711.5), (1 << 22, 12290.1, 2930.2)], pairs=2),
        words=("--hosts", "c1,c1,c2,c2"),
    ),
}

TRICKS: Mapping[str, Trick] = {
    # one host
    "srun -N1 -n2": on_one_node("srun -N1 -n2"),
    "srun --nodes=1": on_one_node("srun --nodes=1 --ntasks=2"),
    "mpirun --host c1:2": on_one_node("mpirun -np 2 --host c1:2"),
    "mpirun -H c1,c1": on_one_node("mpirun -np 2 -H c1,c1"),
    "mpiexec -ppn 2": on_one_node("mpiexec -n 2 -ppn 2"),
    "mpirun --host localhost": on_one_node("mpirun -np 2 --host localhost:2"),
    "UCX: memory alone": lines_before(f"{UCX}[1]: tag(sysv/memory cma/memory)\n"),
    "Open MPI: vader alone": lines_before(
        "[c1:01001] mca: bml: Using vader btl for send to [[1,1],1] on node c1\n"
    ),
    "a job of one node, as env prints it": lines_before(
        "SLURM_JOB_NUM_NODES=1\n+ srun -n 2 ./osu_bw\n"
    ),
    "a report of bindings on one host": Trick(logs.osu_bw(before=(
        "[c1:01001] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/./.][./././.]\n"
        "[c1:01001] MCW rank 1 bound to socket 0[core 1[hwt 0]]: [./B/.][./././.]\n"
    ))),
    "a rank table of one host": Trick(logs.osu_bw(before=(
        "[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n"
        "[0] MPI startup(): 0       1001     c1         0\n"
        "[0] MPI startup(): 1       1002     c1         1\n"
    ))),
    "nccl on one node": Trick(
        logs.nccl(11.9, "+ mpirun -np 2 ./all_reduce_perf -b 8M\n").replace("on  n2", "on  n1"),
        words=(),
    ),
    "one host by --hosts": Trick(logs.osu_bw(), words=("--hosts", "c1,c1")),
    "more ranks than the program has": Trick(logs.osu_bw(), words=("--hosts", "c1,c2,c2")),
    "a pair on one of two hosts": Trick(logs.osu_bw(), words=("--hosts", "c1,c1,c2,c2")),
    "each pair on one of two hosts": Trick(
        logs.osu_mbw_mr([(1 << 20, 12280.4, 11711.5), (1 << 22, 12290.1, 2930.2)], pairs=2),
        words=("--hosts", "c1,c2,c1,c2"),
    ),
    "other hosts than the command's": Trick(
        logs.osu_bw(before="+ mpirun -np 2 --host d1,d2 ./osu_bw\n")
    ),
    "other hosts than the table's": Trick(logs.nccl(11.9, NCCL)),
    "two names of one host": Trick(logs.osu_bw(), words=("--hosts", "c1,c1.example.org")),
    "two names of this host": Trick(logs.osu_bw(), words=("--hosts", "localhost,127.0.0.1")),
    "perftest to its own port": Trick(logs.perftest(97.6, local="0x0001", remote="0x0001")),
    # memory, not a network
    "latency of memory": Trick(logs.osu_bw() + logs.osu_latency(logs.scaled(logs.EDR_US, 0.3))),
    "bandwidth above the link": Trick(logs.osu_bw(logs.scaled(logs.EDR_MB_S, 1.3))),
    "one size above the link": Trick(logs.osu_bw(logs.scaled(logs.EDR_MB_S, 1.2, 1 << 20))),
    "cache shape": Trick(
        logs.osu_bw(logs.scaled(logs.EDR_MB_S, 1.35, 1 << 16, 1 << 18)
                    | {1 << 22: 6100.0})
    ),
    "fetch-and-op of memory": Trick(
        "# OSU MPI_Fetch_and_op latency Test v7.4\n# Window creation: MPI_Win_allocate\n"
        "# Synchronization: MPI_Win_flush\n# Datatype: MPI_LONG_LONG.\n"
        "# Size          Latency (us)\n8                       0.18\n"
    ),
    **{
        f"{title} of memory": Trick(logs.osu_bw() + "\n" + logs.osu_collective(title, 0.3))
        for title in COLLECTIVES
    },
    "a non-blocking collective of memory": Trick(logs.osu_bw() + "\n" + logs.osu_iallreduce(0.3)),
    "imb latency of memory": Trick(logs.imb_pingpong(logs.scaled(logs.EDR_US, 0.25))),
    # too little
    "no network stated": Trick(logs.osu_bw(), network=None),
    "small latency only": Trick(logs.osu_latency({0: 0.98, 8: 1.0, 64: 1.08})),
    "small messages only": Trick(logs.osu_bw({8: 15.0, 64: 120.0, 1024: 1900.0})),
    "one iteration without warm-up": Trick(
        logs.osu_bw(before="+ mpirun -np 2 --host c1,c2 ./osu_bw -i 1 -x 0\n"), words=()
    ),
    "two iterations, the option written out": Trick(
        logs.osu_bw(before="+ mpirun -np 2 --host c1,c2 ./osu_bw --iterations=2\n"), words=()
    ),
    "imb with one repetition": Trick(
        logs.imb_pingpong().replace("         1000  ", "            1  ")
    ),
    "nccl with one iteration": Trick(
        logs.nccl(11.9, NCCL).replace("iters: 5 iters: 20", "iters: 0 iters: 1"), words=()
    ),
    "no pairs": Trick(
        logs.osu_mbw_mr(
            [(1 << 20, 12280.4, 11711.5), (1 << 22, 12290.1, 2930.2)], pairs=1
        ).replace("pairs: 1", "pairs: 0")
    ),
    "heading without rows": Trick(logs.osu_bw({})),
    "two of many processes": Trick(logs.imb_pingpong(processes="2 "), words=()),
    "cut off": Trick(logs.osu_bw({s: v for s, v in logs.EDR_MB_S.items() if s <= 1 << 12})),
    "empty figures": Trick(logs.perftest(0.0)),
    "one device of eight rails": Trick(logs.perftest(97.6), network="edr rails=8"),
    # slow
    "half the rate": Trick(logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.5))),
    "a tenth of the rate": Trick(logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.1))),
    "ten gigabit for a hundred": Trick(logs.perftest(9.4)),
    "best size full, the others not": Trick(
        logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.42, *LARGE[:-1]))
    ),
    "second run appended": Trick(
        logs.osu_bw() + logs.table(logs.scaled(RAGGED, 0.17).items())
    ),
    "second run appended with heading": Trick(
        logs.osu_bw() + logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.17))
    ),
    "pingpong cliff": Trick(
        logs.imb_pingpong(dict(logs.EDR_US) | {1 << 18: 150.0, 1 << 19: 155.0, 1 << 20: 160.0})
    ),
    "latency of 150 us": Trick(logs.osu_latency(logs.scaled(logs.EDR_US, 150.0))),
    "latency of 50 ms": Trick(
        logs.osu_bw() + "\n" + logs.osu_latency(logs.scaled(logs.EDR_US, 50_000.0))
    ),
    # contradictions and trouble told in the log
    "message rate contradicts bandwidth": Trick(
        logs.osu_mbw_mr([(1 << 20, 12280.4, 1200.0), (1 << 22, 12290.1, 290.0)], pairs=1)
    ),
    "perftest's average above its peak": Trick(logs.perftest(97.6).replace("97.90", "24.90")),
    "perftest's columns in two units": Trick(
        logs.perftest(97.6).replace("BW average[Gb/sec]", "BW average[MB/sec]")
    ),
    "perftest's message rate contradicts": Trick(
        logs.perftest(97.6).replace(f"{97.6 / 8388.6:.6f}", "0.002909")
    ),
    "nccl's times contradict its bandwidths": Trick(
        logs.nccl(11.9, NCCL).replace(f"{1073741.824 / 11.9:.1f}", "360921.6"), words=()
    ),
    "nccl's mean is above all rows": Trick(
        logs.nccl(11.9, NCCL).replace("bandwidth    : 11.9", "bandwidth    : 99.9"), words=()
    ),
    "one size at a fortieth": Trick(
        logs.osu_bw({**logs.EDR_MB_S, 1 << 18: 300.0})
    ),
    "a size that is no number": Trick(logs.osu_bw().replace("12290.10", "nan")),
    "a size that is endless": Trick(logs.osu_bw().replace("12290.10", "inf")),
    "a size that is negative": Trick(logs.osu_bw().replace("12290.10", "-12290.10")),
    "another unit": Trick(logs.osu_bw().replace("(MB/s)", "(Mbit/s)")),
    "bandwidths under a heading of latency": Trick(
        logs.osu_bw() + "\n" + logs.osu_latency(logs.EDR_MB_S)
    ),
    "latencies under a heading of bandwidth": Trick(logs.osu_bw(logs.EDR_US)),
    "ranks of one node, and other hosts stated": Trick(
        logs.osu_bw(before="+ srun -N1 -n2 ./osu_bw\n")
    ),
    "data errors": Trick(logs.nccl(11.9, "+ ./all_reduce_perf\n", "7"), words=()),
    "validation error": Trick(logs.osu_bw() + "DATA VALIDATION ERROR: osu_bw exited with status 1"
                              " on message size 4194304.\n"),
    "port error in the run": Trick(
        logs.nccl(
            11.9,
            "+ mpirun -np 2 ./all_reduce_perf -b 8M -e 8G\nn1:1001:1040 [0] transport/net_ib.cc:94"
            " NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n",
        ),
        words=(),
    ),
    "transport error": Trick(
        logs.osu_bw({s: v for s, v in logs.EDR_MB_S.items() if s <= 1 << 16})
        + "[c1:1001] Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd"
        " 0/0)\n"
    ),
    "the program crashed behind the table": Trick(
        logs.osu_bw()
        + "[c2:1002:0:1002] Caught signal 7 (Bus error: nonexistent physical address)\n"
    ),
    "perftest's error behind the table": Trick(
        logs.perftest(97.6)
        + " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"
    ),
    "an error between two tables": Trick(
        logs.perftest(97.6)
        + " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"
        + logs.perftest(97.6)
    ),
    "the kernel's link down among the lines": Trick(
        logs.osu_bw() + "[ 1234.567] mlx5_core 0000:81:00.0 ib0: Link down\n"
    ),
    "eight pairs as much as one link": Trick(
        logs.osu_mbw_mr([(1 << 20, 12280.4, 11711.5), (1 << 22, 12290.1, 2930.2)], pairs=8),
        words=("--hosts", "c[1-16]"),
    ),
    "both directions together full": Trick(logs.osu_bw(title="Bi-Directional Bandwidth")),
    "one of two tables at half": Trick(
        logs.osu_bw() + "\n" + logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.5))
    ),
    "no numbers": Trick(logs.perftest(97.6).replace("97.60", "nan")),
    "aborted": Trick(
        logs.osu_bw({s: v for s, v in logs.EDR_MB_S.items() if s <= 1 << 14})
        + "--------------------------------------------------------------------------\n"
        "mpirun noticed that process rank 1 with PID 0 on node c2 exited on signal 9 (Killed).\n"
    ),
    "retransmits": Trick(
        (FIXTURES / "iperf3" / "3.12--json.out").read_text().replace(
            '"retransmits":\t0', '"retransmits":\t40000'
        ),
        network="10GbE mtu=1500",
    ),
}  # fmt: skip


def overall(trick: Trick, folder: Path) -> str:
    """Import a log as a user does; return the overall outcome, "refused" without one."""
    log = folder / "a.log"
    log.write_text(trick.text)
    stated = ("--network", trick.network) if trick.network else ()
    words = ("import", str(log), *stated, *trick.words, "-o", str(folder), "--format", "json")
    done = CliRunner().invoke(cli, words)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        assert done.exit_code != 0
        return "refused"
    return str(document["overall"])


@pytest.mark.parametrize(
    ("network", "gbit_s", "outcome"),
    [("edr", 98.0, "INCONCLUSIVE"), ("edr rails=2", 98.0, "FAIL"), ("edr rails=2", 196.0, "PASS")],
)
def test_perftests_sum_of_two_ports_needs_two_rails(
    network: str, gbit_s: float, outcome: str, tmp_path: Path
) -> None:
    both = logs.perftest(gbit_s).replace("Dual-port       : OFF", "Dual-port       : ON")
    assert "Dual-port       : ON" in both
    assert overall(Trick(both, network=network), tmp_path) == outcome


def rising(share: float) -> Trick:
    """A stream up to 64 KiB over a link that carries this share of EDR."""
    rows = {1 << n: (1 << n) / (0.65 + (1 << n) / (share * 12_400.0)) for n in range(17)}
    return Trick(logs.osu_bw(rows, before="+ osu_bw -m 65536\n"))


@pytest.mark.parametrize(("share", "outcome"), [(1.0, "INCONCLUSIVE"), (0.5, "FAIL")])
def test_a_curve_that_still_rises_to_the_ceiling_decides_nothing(
    share: float, outcome: str, tmp_path: Path
) -> None:
    assert overall(rising(share), tmp_path) == outcome


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_log_passes(name: str, tmp_path: Path) -> None:
    assert overall(SOUND[name], tmp_path) == "PASS"


@pytest.mark.parametrize("name", TRICKS)
def test_a_log_that_fools_a_reader_does_not_pass(name: str, tmp_path: Path) -> None:
    assert overall(TRICKS[name], tmp_path) != "PASS"


#: Its clock was wrong, and it says so.
WRONG_CLOCK = "4.5--write-bw-cpu-frequency"


@pytest.mark.parametrize("suite", ["perftest", "nccl-tests", "osu"])
def test_no_real_log_contradicts_itself(suite: str) -> None:
    """Message rates of few messages are rounded, and each port has a part of the bytes."""
    paths = [path for path in (FIXTURES / suite).glob("*.out") if path.stem != WRONG_CLOCK]
    assert len(paths) > 10
    for path in paths:
        curves = tuple(item for item in read_file(path) if isinstance(item, SuiteCurve))
        launch = Launch(1, None, (), None, (), (), Ended(IMPORTED, 0, "", (), 0.0), curves=curves)
        plan = Plan("import", Stopping(0.0, 0.0), False, (), tool="import")
        run = Run("r", "", (), {}, Fabric((), (), ()), plan, (launch,), complete=True)
        for verdict in stability.judge(Context(run, {})):
            assert "but" not in verdict.summary and "extremes" not in verdict.summary, path
