"""A log never passes against its own evidence, and a sound one beside it does."""

from pathlib import Path

import pytest
from tests.hunt.logs import imb_pingpong, perftest
from tests.logs.test_logs_as_seen import FAIL, FULL, INVALID, PASS, SKIPPED, TWO, WARN, judged, osu

from fabricgauge.model.verdict import Outcome

FIXTURES = Path(__file__).parents[1] / "fixtures"


def log(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (log("osu/7.5--one-host-command.out"), INVALID),
        (log("osu/7.5--one-node-command.out"), INVALID),
        ("$ srun -N2 -n2 ./osu_bw\n" + FULL, PASS),
        ("$ mpirun -np 2 -H c1,c2 ./osu_bw\n" + FULL, PASS),
        ("$ mpirun -np 2 --host c1:2 ./osu_latency\n" + FULL, PASS),  # another program's
        ("$ mpirun -np 2 -H c1:2 osu_bw\n$ mpirun -np 2 -H c1,c2 osu_bw\n" + FULL, PASS),
    ],
)
def test_a_command_that_starts_all_ranks_on_one_node(text: str | bytes, outcome: Outcome) -> None:
    (found,) = judged(text, "edr")
    assert (found.outcome, found.rule) == (
        outcome, "placement" if outcome is INVALID else "fraction",
    )  # fmt: skip


def test_each_table_has_its_own_command() -> None:
    text = (
        f"$ mpirun -np 2 -H c1:2 osu_bw\n{FULL}$ mpirun -np 2 -H c1,c2 osu_bw\n{FULL}"
        f"$ srun -N1 -n2 osu_bw\n{FULL}"
    )
    assert [one.outcome for one in judged(text, "edr")] == [INVALID, PASS, INVALID]


def test_a_command_inside_a_node_is_sound_on_a_medium_inside_a_node() -> None:
    (found,) = judged("$ srun -N1 -n2 ./osu_bw\n" + FULL, "nvlink4 links=1")
    assert found.rule != "placement"


PAIRS = FULL.replace("Bandwidth Test", "Multiple Bandwidth / Message Rate Test").replace(
    "# Size", "# [ pairs: 2 ] [ window size: 64 ]\n# Size"
)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (log("osu/5.7.1--mbw-same-node.out"), INVALID),
        ("$ mpirun -np 4 --host c1:2,c2:2 --map-by node osu_mbw_mr\n" + PAIRS, INVALID),
        ("$ mpirun -np 4 --host c1:2,c2:2 osu_mbw_mr\n" + PAIRS, PASS),
        (PAIRS, SKIPPED),
    ],
)
def test_the_first_half_of_ranks_is_paired_with_the_second(
    text: str | bytes, outcome: Outcome
) -> None:
    (found,) = judged(text, "edr")
    assert found.outcome is outcome, found


def test_pairs_across_nodes_pass() -> None:
    text = log("osu/5.7.1--mbw-same-node.out").decode()
    across = text.replace("4414     n-1", "4414     n-0").replace("4272     n-0", "4272     n-1")
    (found,) = judged(across, "edr")
    assert found.outcome is PASS, found


def one_sided(name: str, time_us: float) -> str:
    return osu(f"{name} latency Test", "Latency (us)", ((8, time_us),))


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (log("osu/5.8--fetch-and-op-in-memory.out"), INVALID),
        *((one_sided(name, 0.18), INVALID)
          for name in ("Get", "Accumulate", "Get_accumulate", "Compare_and_swap")),
        (one_sided("_Fetch_and_op", 2.1), SKIPPED), (one_sided("_Get", 1.4), SKIPPED),
    ],
)  # fmt: skip
def test_one_sided_operations_have_a_floor(text: str | bytes, outcome: Outcome) -> None:
    raw = text if isinstance(text, bytes) else text.replace("OSU MPI ", "OSU MPI_")
    raw = raw if isinstance(raw, bytes) else raw.replace("MPI__", "MPI_")
    (found,) = judged(raw, "edr")
    assert (found.outcome is INVALID, found.rule == "floor") == (outcome is INVALID,) * 2, found


@pytest.mark.parametrize(
    "hosts", [("a", "a.example.org"), ("localhost", "127.0.0.1"), ("c1", "C1")]
)
def test_two_names_of_one_host_are_one_host(hosts: tuple[str, str]) -> None:
    (found,) = judged(FULL, "edr", hosts)
    assert (found.outcome, found.rule) == (INVALID, "placement")


@pytest.mark.parametrize(
    "hosts", [("a.one.org", "a.two.org"), ("c1", "c10"), ("10.0.0.1", "10.0.0.10")]
)
def test_names_of_two_hosts_are_two(hosts: tuple[str, str]) -> None:
    (found,) = judged(FULL, "edr", hosts)
    assert found.outcome is PASS, found


def stream(*rows: tuple[int, float]) -> str:
    return osu("Bandwidth Test", "Bandwidth (MB/s)", rows)


TWICE = ((65536, 116.1), (1 << 20, 117.4), (4 << 20, 117.15))
IMB_TWICE = """\
# Benchmarking Uniband
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions   Mbytes/sec      Msg/sec
        65536          640      116.10         1771
      1048576           40      117.40          112
      1048576           40      {rate:.2f}          {messages}
      4194304           10      117.20           28
"""


def test_the_rows_of_a_second_run_are_judged_as_well() -> None:
    slow = "".join(f"{size:<10}{rate / 6:>20.2f}\n" for size, rate in TWICE)
    assert [one.outcome for one in judged(stream(*TWICE) + slow, "1GbE", TWO)] == [PASS, FAIL]
    again = "".join(f"{size:<10}{rate:>20.2f}\n" for size, rate in TWICE)
    assert [one.outcome for one in judged(stream(*TWICE) + again, "1GbE", TWO)] == [PASS, PASS]


@pytest.mark.parametrize(("rate", "outcome"), [(20.4, WARN), (116.9, PASS)])
def test_rows_of_one_size_that_contradict_each_other_are_no_pass(
    rate: float, outcome: Outcome
) -> None:
    text = IMB_TWICE.format(rate=rate, messages=round(rate / 1.048576))
    (found,) = judged(text, "1GbE", TWO)
    assert found.outcome is outcome, found
    assert outcome is PASS or found.rule == "stability"


def test_a_ping_pong_with_a_cliff_that_recovers_is_named() -> None:
    (found,) = judged(log("imb/2021.3--pingpong-cliff.out"), "edr", TWO)
    assert (found.outcome, found.rule) == (WARN, "dips")
    assert "80.0 % from 128 KiB to 256 KiB" in found.summary


PING_PONG = ((8192, 4.59), (65536, 9.2), (131072, 15.0), (262144, 26.0), (524288, 48.0),
             (1 << 20, 90.0), (4 << 20, 345.0))  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, PASS),
        ({262144: 150.0}, PASS),  # one size: a disturbed sample may own its mean
        ({262144: 36.0, 524288: 66.0}, PASS),  # another protocol, 28 % less
        ({262144: 150.0, 524288: 155.0}, WARN),
    ],
)
def test_a_cliff_lasts_over_several_sizes(changed: dict[int, float], outcome: Outcome) -> None:
    rows = tuple((size, changed.get(size, time)) for size, time in PING_PONG)
    (found,) = judged(osu("Latency Test", "Latency (us)", rows), "edr", TWO)
    assert found.outcome is outcome, found


SIZES = tuple(65536 << power for power in range(7))


@pytest.mark.parametrize(
    ("rates", "outcome"),
    [
        ((5216,) * 6 + (12301,), WARN),
        ((11900,) * 6 + (12301,), PASS),
        ((5216, 9100, 11800, 12200, 12280, 12290, 12301), PASS),  # grows with the message
        ((11900, 11900, 5216, 11900, 12301, 12301, 12301), PASS),  # one size
    ],
)
def test_sizes_that_stay_far_below_the_best_are_named(
    rates: tuple[float, ...], outcome: Outcome
) -> None:
    (found,) = judged(stream(*zip(SIZES, rates, strict=True)), "edr", TWO)
    assert found.outcome is outcome, found
    assert outcome is PASS or "256 KiB, 512 KiB, 1 MiB and 2 MiB" in found.summary


IPERF3 = """\
Connecting to host c2, port 5201
[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.09 GBytes  9.37 Gbits/sec  {retries}   1.20 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-1.00   sec  1.09 GBytes  9.37 Gbits/sec  {retries}             sender
[  5]   0.00-1.00   sec  1.09 GBytes  9.36 Gbits/sec                  receiver

iperf Done.
"""


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (log("iperf3/3--sent-again.out"), WARN), (IPERF3.format(retries=0), PASS),
        (IPERF3.format(retries=40), PASS), (IPERF3.format(retries=600), PASS),
        (IPERF3.format(retries=3148), WARN), (IPERF3.format(retries=400_000), FAIL),
    ],
)  # fmt: skip
def test_segments_that_were_sent_again_are_held_against_their_share(
    text: str | bytes, outcome: Outcome
) -> None:
    (found,) = judged(text, "10GbE mtu=1500")
    assert (found.outcome, found.rule) == (outcome, "fraction" if outcome is PASS else "errors")


def test_the_share_of_segments_has_its_limit() -> None:
    (found,) = judged(log("iperf3/3--sent-again.out"), "10GbE mtu=1500")
    assert "6,118 of about 1,617,749 segments" in found.summary and "0.38 %" in found.summary


UDP = """\
Connecting to host c2, port 5201
[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Total Datagrams
[  5]   0.00-1.00   sec   119 MBytes  1.00 Gbits/sec  86000
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   119 MBytes  1.00 Gbits/sec  0.000 ms  0/86000 (0%)  sender
[  5]   0.00-1.00   sec   110 MBytes   923 Mbits/sec  0.010 ms  {lost}/86000 ({share}%)  receiver

iperf Done.
"""


@pytest.mark.parametrize(("lost", "warns"), [(6622, True), (60, False), (0, False)])
def test_lost_datagrams_are_held_against_their_share(lost: int, warns: bool) -> None:
    (found,) = judged(UDP.format(lost=lost, share=lost / 860), "10GbE mtu=1500")
    assert (found.outcome is WARN, found.rule == "errors") == (warns, warns), found


@pytest.mark.parametrize(
    ("event", "outcome"),
    [("port error", WARN), ("local catastrophic error", WARN), ("port active", PASS),
     ("client reregistration", PASS), ("LID change", PASS)],
)  # fmt: skip
def test_a_link_that_flapped_while_nccl_measured_is_named(event: str, outcome: Outcome) -> None:
    text = log("nccl-tests/2.13--link-flapped.out").decode().replace("port error", event)
    found = judged(text, "ndr")
    assert {one.outcome for one in found} == {outcome}, found
    assert outcome is PASS or {one.rule for one in found} == {"errors"}


def test_the_first_ranks_of_many_decide_nothing_unless_their_nodes_are_known() -> None:
    """An IMB table of 2 of 64 processes is memory's, as a rule."""
    text = log("imb/2021.3--uniband-subset.out")
    assert [one.outcome for one in judged(text, "edr")] == [SKIPPED, SKIPPED]
    assert [one.outcome for one in judged(text, "edr", TWO)] == [SKIPPED, PASS]
    subset, whole = judged(b"$ mpirun -np 64 -ppn 1 IMB-MPI1 Uniband\n" + text, "edr", TWO)
    assert (subset.outcome, whole.outcome) == (FAIL, PASS)
    subset, _ = judged(b"$ mpirun -np 64 -ppn 32 IMB-MPI1 Uniband\n" + text, "edr", TWO)
    assert (subset.outcome, subset.rule) == (INVALID, "placement")


def test_a_latency_of_the_first_ranks_of_many_is_a_remark() -> None:
    text = """\
# Benchmarking PingPong
# #processes = 2
# ( 62 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.21         0.00
         8192         1000         1.20      6826.67
      4194304           10       360.00     11650.84
"""
    (found,) = judged(text, "edr")
    assert found.outcome is WARN, found


@pytest.mark.parametrize(
    ("rate", "network", "outcome"),
    [(197.28, "hdr rails=8", WARN), (99.0, "hdr rails=8", FAIL), (197.28, "hdr", PASS)],
)
def test_one_device_is_held_against_one_rail(rate: float, network: str, outcome: Outcome) -> None:
    text = log("perftest/5--one-device-of-eight.out").decode().replace("197.28", f"{rate:.2f}")
    (found,) = judged(text, network, TWO)
    assert (found.outcome, found.rule) == (outcome, "fraction"), found
    assert network == "hdr" or found.share == pytest.approx(rate / 198.74, rel=0.01)


def test_rows_of_run_infinitely_are_whole() -> None:
    text = log("perftest/5--run-infinitely.out")
    (found,) = judged(text, "hdr", TWO)
    assert found.outcome is PASS, found
    (found,) = judged(b"".join(text.splitlines(keepends=True)[:-3]), "hdr", TWO)
    assert (found.outcome, found.rule) == (WARN, "completeness")  # one row may be cut off
    (found,) = judged(text.replace(b"197.57", b"49.57", 1), "hdr", TWO)
    assert found.outcome is WARN, found


@pytest.mark.parametrize(("rate", "outcome"), [(393.28, PASS), (378.0, SKIPPED), (200.0, WARN)])
def test_both_directions_that_are_full_together_are_full_alone(
    rate: float, outcome: Outcome
) -> None:
    text = log("perftest/5--bidirectional-alone.out").decode().replace("393.28", f"{rate:.2f}")
    (found,) = judged(text, "hdr", TWO)
    assert found.outcome is outcome, found


@pytest.mark.parametrize(
    ("network", "rate", "outcome"),
    [
        ("5 Gb/s", 4.70, PASS), ("5 Gb/s", 4.78, WARN), ("5 Gb/s", 4.97, WARN),
        ("5 Gb/s", 5.2, INVALID), ("12.5 Gb/s mtu=1500", 11.95, WARN),
        ("10GbE", 9.41, PASS), ("10GbE", 9.9, WARN), ("10GbE mtu=1500", 9.9, INVALID),
        ("10GbE", 10.5, INVALID), ("10GbE mtu=9000", 9.9, PASS),
    ],
)  # fmt: skip
def test_a_cap_and_an_unstated_mtu_are_no_physics(
    network: str, rate: float, outcome: Outcome
) -> None:
    text = IPERF3.format(retries=0).replace("9.37", f"{rate:.2f}").replace("9.36", f"{rate:.2f}")
    (found,) = judged(text, network)
    assert found.outcome is outcome, found


def test_waived_tests_of_nvbandwidth_are_no_trouble() -> None:
    text = "nvbandwidth Version: v0.6\nRunning host_to_device_memcpy_ce.\n" + MATRIX
    alone = judged(text, "pcie 5.0 x16")
    waived = "".join(
        f"Running device_to_device_memcpy_{name}_ce.\nWaived:\n" for name in ("read", "write")
    )
    assert {one.outcome for one in judged(text + waived, "pcie 5.0 x16")} <= {
        *(one.outcome for one in alone), SKIPPED
    }  # fmt: skip


MATRIX = """\
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0
 0     55.62

SUM host_to_device_memcpy_ce 55.62

"""


@pytest.mark.parametrize("name", ["quoted", "labelled", "unnamed"])
def test_a_collective_is_known_by_its_command_or_its_rates(name: str) -> None:
    found = judged(log(f"nccl-tests/2.13--command-{name}.out"), "200GbE rails=8")
    assert {(one.benchmark, one.outcome) for one in found} == {("all_reduce_perf", PASS)}


@pytest.mark.parametrize(
    ("rate", "outcome"),
    [(2932.55, PASS), (1200.0, WARN), (2932.55 * 1.03, PASS), (29325.5, WARN)],
)
def test_columns_of_a_row_that_contradict_each_other_are_no_pass(
    rate: float, outcome: Outcome
) -> None:
    rows = ((65536, 11900.0, 181579.59), (4 << 20, 12300.0, rate))
    text = osu("Multiple Bandwidth / Message Rate Test", "MB/s Messages/s", rows)
    text = text.replace("# Size", "# [ pairs: 1 ] [ window size: 64 ]\n# Size")
    (found,) = judged(text, "edr", TWO)
    assert found.outcome is outcome, found
    assert outcome is PASS or found.rule == "stability"


def test_a_command_over_several_lines_is_one_command() -> None:
    text = f"$ mpirun -np 2 \\\n>   --host c1:2 \\\n>   ./osu_bw\n{FULL}"
    (found,) = judged(text, "edr")
    assert (found.outcome, found.rule) == (INVALID, "placement")


IMB_BROADCAST = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part
#----------------------------------------------------------------
#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 10
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
      4194304           10       360.00      {slowest:.2f}      {mean:.2f}


# All processes entering MPI_Finalize
"""
UNEVEN = ("c1",) * 8 + ("c2",) * 2


@pytest.mark.parametrize(
    ("slowest", "mean", "hosts", "outcome"),
    [
        (35700.0, 11200.0, UNEVEN, SKIPPED), (35700.0, 11200.0, (), SKIPPED),
        (18000.0, 7200.0, UNEVEN, SKIPPED),  # the root changes: each node sends half the calls
        (16000.0, 15600.0, UNEVEN, INVALID), (1600.0, 1200.0, UNEVEN, INVALID),
    ],
)  # fmt: skip
def test_a_broadcast_of_imb_lasts_what_its_slowest_rank_waits_for(
    slowest: float, mean: float, hosts: tuple[str, ...], outcome: Outcome
) -> None:
    (found,) = judged(IMB_BROADCAST.format(slowest=slowest, mean=mean), "1GbE", hosts)
    assert found.outcome is outcome, found
    assert outcome is SKIPPED or found.rule == "above-ceiling"


@pytest.mark.parametrize(
    ("mean", "hosts", "outcome"),
    [
        (2800.0, UNEVEN, SKIPPED), (2800.0, (), SKIPPED), (1500.0, UNEVEN, INVALID),
        (4400.0, ("c1",) * 5 + ("c2",) * 5, SKIPPED), (4000.0, ("c1",) * 5 + ("c2",) * 5, INVALID),
        (4400.0, TWO, SKIPPED), (2800.0, TWO, INVALID),
    ],
)  # fmt: skip
def test_the_mean_of_a_broadcast_lasts_by_the_ranks_beside_the_roots_node(
    mean: float, hosts: tuple[str, ...], outcome: Outcome
) -> None:
    text = osu("Broadcast Latency Test", "Avg Latency(us)", ((1 << 20, mean),))
    (found,) = judged(text, "1GbE", hosts)
    assert found.outcome is outcome, found


def test_the_slowest_rank_of_a_broadcast_of_osu_waits_for_all_of_it() -> None:
    heads = "Avg Latency(us) Min Latency(us) Max Latency(us)"
    for slowest, outcome in ((8950.0, SKIPPED), (7000.0, INVALID)):
        text = osu("Broadcast Latency Test", heads, ((1 << 20, 2800.0, 90.0, slowest),))
        (found,) = judged(text, "1GbE")
        assert found.outcome is outcome, found


@pytest.mark.parametrize(
    ("command", "hosts", "outcome"),
    [
        ("mpirun -hosts c1,c2,c3,c4 -n 2 -ppn 1", TWO, PASS),
        ("mpirun -np 2 --host localhost,c2", TWO, PASS),
        ("mpirun -np 2 --host ib-c1,ib-c2", TWO, PASS),
        ("mpirun -np 2 --host c1,c2", ("c1", "c2", "c3"), PASS),
        ("mpirun -hosts c1,c2,c3,c4 -n 2 -ppn 1", ("c1", "d2"), WARN),
        ("mpirun -hosts c1,c2,c3,c4 -n 2 -ppn 1", ("c3", "c4"), WARN),
        ("mpirun -np 2 --host localhost,c2", ("c1", "d2"), WARN),
        ("mpirun -np 2 --host c11,c12", TWO, WARN),
    ],
)
def test_a_command_may_name_more_hosts_than_its_ranks_need(
    command: str, hosts: tuple[str, ...], outcome: Outcome
) -> None:
    (found,) = judged(f"$ {command} ./osu_bw\n{FULL}", "edr", hosts)
    assert found.outcome is outcome, found
    assert outcome is PASS or found.rule == "placement"


def test_hosts_of_another_number_of_ranks_do_not_place_a_pair() -> None:
    found = judged(f"{PAIRS}\n{FULL}", "edr", ("c1", "c1", "c2", "c2"))
    assert [(one.outcome, one.rule) for one in found] == [(PASS, "fraction"), (WARN, "placement")]


def test_a_collective_has_as_many_ranks_as_its_command_starts() -> None:
    table = osu("Allreduce Latency Test", "Avg Latency(us)", ((1 << 20, 28000.0),))
    (across,) = judged(f"$ mpirun -n 16 -host c1:8,c2:8 ./osu_allreduce\n{table}", "1GbE")
    assert across.rule != "placement" and across.outcome is not INVALID
    for command in ("mpirun -n 16 -host c1:16", "mpirun -host c1:8", "srun -N1 -n16"):
        (inside,) = judged(f"$ {command} ./osu_allreduce\n{table}", "1GbE")
        assert (inside.outcome, inside.rule) == (INVALID, "placement"), command


def test_few_iterations_are_not_laid_to_an_option_that_was_not_given() -> None:
    text = imb_pingpong().replace("         1000  ", "            1  ")
    (found, *_) = (one for one in judged(text, "edr", TWO) if one.rule == "stability")
    assert found.outcome is WARN
    assert "-iter_policy off" in found.remedy and "-x" not in found.remedy


CLOCK = "Conflicting CPU frequency values detected: 1000.0 != 3300.0. CPU Frequency is not max.\n"


@pytest.mark.parametrize(
    ("before", "after", "is_clock"),
    [("0.011635", "0.002909", False), ("97.90", "24.90", True)],
)
def test_a_wrong_clock_does_not_part_columns_of_one_count(
    before: str, after: str, is_clock: bool
) -> None:
    text = perftest(97.6).replace(before, after).replace(" 1048576  ", f"{CLOCK} 1048576  ")
    (found,) = judged(text, "edr", TWO)
    assert (found.outcome, found.rule) == (WARN, "stability"), found
    assert ("governor" in found.remedy) == is_clock
