"""One part of a log is unlike the others, or its command or heading explains the figure."""

from pathlib import Path

import pytest
from tests.hunt.logs import EDR_MB_S, nccl, osu_bw, osu_collective, osu_mbw_mr, perftest, scaled
from tests.logs.test_logs_as_seen import FAIL, INCONCLUSIVE, INVALID, PASS, TWO, WARN, judged

from fabricgauge.compare.sides import compare_operands
from fabricgauge.model.verdict import Outcome

FIXTURES = Path(__file__).parents[1] / "fixtures"
MULTI = (FIXTURES / "imb" / "2021.3--multi-pingpong-slow-group.out").read_text()
MPIGRAPH = (FIXTURES / "mpigraph" / "1.6--eight-ranks-slow-sender.out").read_text()
SOCKPERF = (FIXTURES / "sockperf" / "3.7--lost-and-doubled.out").read_text()


def test_a_group_that_is_slower_than_another_at_the_same_time() -> None:
    (found,) = judged(MULTI, "edr")
    assert (found.rule, found.outcome) == ("stability", WARN)
    assert "group 1 (ranks 2 3) carries 9.8 % of group 0 at 4 MiB" in found.summary
    rows = MULTI.splitlines(keepends=True)
    alike = [
        rows[place - 1].replace("    0 ", "    1 ", 1) if row.startswith("    1 ") else row
        for place, row in enumerate(rows)
    ]
    (found,) = judged("".join(alike), "edr")
    assert found.rule != "stability"


def test_a_slow_sender_in_a_matrix_of_mpigraph() -> None:
    send, recv = judged(MPIGRAPH, "edr")
    assert (send.rule, send.outcome) == ("pairs", FAIL)
    assert "49.0 % of the ceiling" in send.summary
    assert recv.outcome is Outcome.SKIPPED
    send, _ = judged(MPIGRAPH.replace("5800.000", "11600.000"), "edr")
    assert (send.rule, send.outcome) == ("fraction", PASS)


def test_ranks_that_share_a_node_s_link_at_once_are_no_fault_of_it() -> None:
    """Eight ranks on seven nodes: the two of the last one have half of its link each."""
    names = [*"abcdefg", "g"]
    rows = ["MsgSize\t1048576", "Procs\t8"]
    for head, word in (("Send", "to"), ("Recv", "from")):
        ends = [f"{name}:{rank}" for rank, name in enumerate(names)]
        rows.append("\t".join([head, *ends]))
        for one, end in enumerate(ends):
            rates = [
                "0.000" if one == other
                else f"{(5200 if 'g' in (names[one], names[other]) else 10500) + other}.000"
                for other in range(8)
            ]  # fmt: skip
            rows.append("\t".join([f"{end} {word}", *rates]))
        rows += ["Send avg\t1000"] if head == "Send" else []
    text = "\n".join(["START mpiGraph v1.6", *rows, "END mpiGraph", ""])
    assert all(found.rule not in ("pairs", "outliers") for found in judged(text, "edr"))
    sound = text.replace("g:7", "h:7")
    assert any(found.rule in ("pairs", "outliers") for found in judged(sound, "edr"))


def test_ranks_that_all_send_at_once_do_not_show_what_one_pair_carries() -> None:
    text = MPIGRAPH
    for rate in ("11500", "11550", "11600", "11650", "11700"):
        text = text.replace(f"{rate}.000", "5800.000")
    send, _ = judged(text, "edr")
    assert (send.rule, send.outcome) == ("fraction", INCONCLUSIVE)
    assert "all ranks sent and received at once" in send.cause


@pytest.mark.parametrize(
    ("dropped", "repeated", "outcome"),
    [("2000", "300", WARN), ("0", "300", WARN), ("2", "3", PASS), ("2", "0", PASS)],
)
def test_messages_that_sockperf_lost_or_got_twice(
    dropped: str, repeated: str, outcome: Outcome
) -> None:
    text = SOCKPERF.replace("dropped messages = 2000", f"dropped messages = {dropped}")
    text = text.replace("duplicated messages = 300", f"duplicated messages = {repeated}")
    (found,) = judged(text, "10gbe")
    assert (found.outcome is WARN) == (outcome is WARN), found
    assert outcome is not WARN or found.rule == "errors"


@pytest.mark.parametrize(("dropped", "warns"), [(40, True), (1, False)])
def test_a_large_part_of_few_messages_counts(dropped: int, warns: bool) -> None:
    text = SOCKPERF.replace("ReceivedMessages=98000", f"ReceivedMessages={100 - dropped}")
    text = text.replace(
        "2000; # duplicated messages = 300", f"{dropped}; # duplicated messages = 0"
    )
    (found,) = judged(text, "10gbe")
    assert (found.rule == "errors") == warns


STREAMS = """\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 41222 connected to 10.0.0.2 port 5201
[  7] local 10.0.0.1 port 41224 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  {first} GBytes  {first} Gbits/sec    0             sender
[  5]   0.00-10.00  sec  {first} GBytes  {first} Gbits/sec                  receiver
[  7]   0.00-10.00  sec  {second} GBytes  {second} Gbits/sec    0             sender
[  7]   0.00-10.00  sec  {second} GBytes  {second} Gbits/sec                  receiver
[SUM]   0.00-10.00  sec  9.36 GBytes  9.36 Gbits/sec    0             sender
[SUM]   0.00-10.00  sec  9.36 GBytes  9.36 Gbits/sec                  receiver
"""


def test_a_connection_that_moved_nothing() -> None:
    (found,) = judged(STREAMS.format(first="9.36", second="0.00"), "10gbe")
    assert (found.rule, found.outcome) == ("stability", WARN)
    assert "1 of 2 connections moved nothing" in found.summary
    (found,) = judged(STREAMS.format(first="4.68", second="4.68"), "10gbe")
    assert found.outcome is PASS


@pytest.mark.parametrize(
    ("mtu", "gbit_s", "network", "rule", "outcome"),
    [
        (256, 90.7, "edr", "mtu", WARN), (512, 95.0, "edr", "mtu", WARN),
        (1024, 96.9, "edr", "fraction", PASS), (256, 40.0, "edr", "fraction", FAIL),
        (2048, 98.0, "edr", "fraction", PASS),
        (512, 85.0, "100gbe roce", "mtu", WARN), (1024, 92.4, "100gbe roce", "fraction", PASS),
        (256, 90.7, "edr mtu=256", "fraction", PASS),
    ],
)  # fmt: skip
def test_the_mtu_of_an_rdma_connection(
    mtu: int, gbit_s: float, network: str, rule: str, outcome: Outcome
) -> None:
    text = perftest(gbit_s).replace("4096[B]", f"{mtu}[B]")
    text = text.replace(": IB\n Max", ": Ethernet\n Max") if "roce" in network else text
    (found,) = judged(text, network, TWO)
    assert (found.rule, found.outcome) == (rule, outcome), found
    if rule == "mtu":
        assert f"is {mtu}" in found.summary


ADAPTERS = "".join(
    f"{node}:1:1 [0] NCCL INFO NET/IB : Using {{names}}; OOB eth0:10.0.0.{place}<0>\n"
    for place, node in enumerate(("n1", "n2"), 1)
)


@pytest.mark.parametrize(("count", "outcome"), [(4, FAIL), (8, PASS)])
def test_nccl_that_found_fewer_adapters_than_there_are_rails(count: int, outcome: Outcome) -> None:
    names = " ".join(f"[{n}]mlx5_{n}:1/IB" for n in range(count))
    text = nccl(46.5 * count, ADAPTERS.format(names=names))
    (row,) = (line for line in text.splitlines(keepends=True) if line.startswith("  1073741824"))
    us, half_us = (f"{size / (46.5e3 * count):.1f}" for size in (1 << 30, 1 << 29))
    half = row.replace("1073741824 ", "536870912 ").replace("268435456", "134217728")
    (found,) = judged(text.replace(row, half.replace(us, half_us) + row), "ndr rails=8")
    assert found.outcome is outcome, found
    assert ("NCCL found 4 adapters on n1" in found.cause) == (outcome is FAIL)


def test_buffers_on_a_gpu_are_a_candidate_behind_a_rate_that_fits() -> None:
    heading = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n# Size  "
    half = osu_bw(scaled(EDR_MB_S, 0.5))
    (on_host,) = judged(half, "edr", TWO)
    (on_gpu,) = judged(half.replace("# Size  ", heading), "edr", TWO)
    assert "GPU" not in on_host.cause
    assert on_gpu.cause.index("50 Gb/s (2x EDR)") < on_gpu.cause.index("MPI copies GPU memory")


@pytest.mark.parametrize(("gbit_s", "network"), [(49.2, "edr rails=2"), (70.0, "edr")])
def test_remedies_of_perftest_name_no_setting_of_an_mpi(gbit_s: float, network: str) -> None:
    (found,) = judged(perftest(gbit_s), network, TWO)
    assert found.outcome is FAIL
    assert not {"UCX", "I_MPI", "rails carried"} & {*found.remedy.split("_"), found.cause}
    assert "UCX" not in found.remedy and "rails carried" not in found.cause


def test_two_ports_are_named_and_not_taken_for_memory() -> None:
    text = perftest(196.0).replace("Dual-port       : OFF", "Dual-port       : ON ")
    (one_rail,) = judged(text, "edr", TWO)
    assert (one_rail.rule, one_rail.outcome) == ("fraction", INCONCLUSIVE)
    assert "both ports" in one_rail.cause
    assert judged(text, "edr rails=2", TWO)[0].outcome is PASS
    assert judged(perftest(196.0), "edr", TWO)[0].outcome is INVALID
    (above,) = judged(text.replace("196.", "296."), "edr", TWO)
    assert (above.rule, above.outcome) == ("above-ceiling", INVALID)


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ("-ppn 2 -hosts c1,c2", PASS), ("-ppn 1 -hosts c1,c2", INVALID),
        ("-ppn 1 -hosts c1,c2,c3,c4", FAIL), ("-hosts c1,c2", INCONCLUSIVE),
    ],
)  # fmt: skip
def test_the_links_of_several_pairs_by_the_command(options: str, outcome: Outcome) -> None:
    rows = ((size, rate, rate * 1e6 / size) for size, rate in EDR_MB_S.items())
    text = osu_mbw_mr(rows, before=f"+ mpirun -np 4 {options} osu_mbw_mr\n")
    (found,) = judged(text, "edr")
    found_outcome = INCONCLUSIVE if found.outcome is Outcome.SKIPPED else found.outcome
    assert found_outcome is outcome, found


def outcome_of(tmp_path: Path, a: str, b: str) -> tuple[str, str]:
    for name, text in (("a", a), ("b", b)):
        (tmp_path / name).write_text(text)
    found = compare_operands(str(tmp_path / "a"), str(tmp_path / "b"), tmp_path, 0.05)
    return found.outcome, " ".join(note for pair in found.pairs for note in pair.notes)


@pytest.mark.parametrize(
    ("many", "few"),
    [
        ("srun -N 64 -n 64", "srun -N 4 -n 4"),
        ("srun -N 8 --ntasks-per-node=8", "srun -N 8 --ntasks-per-node=2"),
        ("jsrun -n 16 -a 4", "jsrun -n 4 -a 4"), ("mpirun -np 64", "mpiexec -n 16"),
    ],
)  # fmt: skip
def test_collectives_of_unlike_numbers_of_ranks_by_their_commands(
    tmp_path: Path, many: str, few: str
) -> None:
    table, less = osu_collective("MPI Allreduce", 3.0), osu_collective("MPI Allreduce", 1.0)
    many, few = (f"+ {command} osu_allreduce\n" for command in (many, few))
    assert outcome_of(tmp_path, many + table, few + less)[0] == "nothing comparable"
    assert outcome_of(tmp_path, many + table, many + less)[0] == "no regression"


@pytest.mark.parametrize(("again", "is_told"), [(0, False), (3000, False), (300_000, True)])
def test_more_segments_that_were_sent_again(tmp_path: Path, again: int, is_told: bool) -> None:
    text = STREAMS.format(first="4.68", second="4.68")
    worse = text.replace("9.36 Gbits/sec    0 ", f"9.36 Gbits/sec    {again} ")
    outcome, notes = outcome_of(tmp_path, text, worse)
    assert (outcome, "TCP sent again 3.7 % of B's packets, 0 % of A's" in notes) == (
        "no regression", is_told,
    )  # fmt: skip
