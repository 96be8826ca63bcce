"""Logs that once were judged wrongly, as their tools print them, from the text to the verdict."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from benchmarks.import_truth import tables

from fabricgauge.compare.sides import compare_operands
from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.judged import TableVerdict
from fabricgauge.model.verdict import Outcome

INVALID, FAIL, INCONCLUSIVE = Outcome.INVALID, Outcome.FAIL, Outcome.INCONCLUSIVE
WARN, PASS, SKIPPED = Outcome.WARN, Outcome.PASS, Outcome.SKIPPED
TWO = ("c1", "c2")


def judged(text: str | bytes, network: str, hosts: Sequence[str] = ()) -> tuple[TableVerdict, ...]:
    raw = text.encode() if isinstance(text, str) else text
    return tables(read([raw], "log"), network, tuple(hosts))


def osu(title: str, heads: str, rows: Iterable[Sequence[float]]) -> str:
    printed = "".join(
        f"{size:<10.0f}{''.join(f'{figure:>20.2f}' for figure in row)}\n" for size, *row in rows
    )
    return f"# OSU MPI {title} v7.3\n# Datatype: MPI_CHAR.\n# Size {heads}\n{printed}"


#: A cloud machine's adapter: what is under way outgrows a buffer at 128 KiB.
CLOUD = (
    (1, 3.6), (64, 230), (1024, 3400), (8192, 9200), (65536, 11900), (131072, 9400),
    (262144, 5100), (1 << 20, 1800), (4 << 20, 1200),
)  # fmt: skip
CLOUD_LATENCY = ((0, 1.9), (8, 1.95), (65536, 32.8), (1 << 20, 720), (4 << 20, 3226))
STREAM = osu("Bandwidth Test", "Bandwidth (MB/s)", CLOUD)
PING_PONG = osu("Latency Test", "Avg Latency(us)", CLOUD_LATENCY)


@pytest.mark.parametrize(
    ("text", "hosts", "outcome"),
    [
        (STREAM, TWO, WARN), (STREAM, (), INCONCLUSIVE), (STREAM, ("c1", "c1"), INVALID),
        (PING_PONG, TWO, WARN),
        (osu("Bi-Directional Bandwidth Test", "Bandwidth (MB/s)", CLOUD), TWO, WARN),
    ],
)  # fmt: skip
def test_a_network_that_falls_at_large_messages_is_not_called_memory(
    text: str, hosts: Sequence[str], outcome: Outcome
) -> None:
    (found,) = judged(text, "edr mtu=4096", hosts)
    assert found.outcome is outcome, found


@pytest.mark.parametrize(
    ("network", "hosts", "outcome"),
    [("edr", (), SKIPPED), ("edr", TWO, PASS), ("fdr", TWO, INVALID)],
)
def test_a_sum_over_pairs_has_the_ceiling_of_its_hosts_links(
    network: str, hosts: Sequence[str], outcome: Outcome
) -> None:
    rows = ((size, rate, rate * 1e6 / size) for size, rate in ((64, 900), (4 << 20, 12100)))
    text = osu("Multiple Bandwidth / Message Rate Test", "MB/s Messages/s", rows)
    text = text.replace("# Size", "# [ pairs: 8 ] [ window size: 64 ]\n# Size")
    (found,) = judged(text, network, hosts)
    assert found.outcome is outcome, found


IMB = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#----------------------------------------------------------------
#----------------------------------------------------------------
# Benchmarking {name}
# #processes = 64
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.04         0.06         0.05
            4         1000        {least:>5}        11.00        {mean:>5}
      4194304           20     15000.00     15900.00     15400.00


# All processes entering MPI_Finalize
"""


@pytest.mark.parametrize(
    ("name", "mean", "outcome"),
    [
        ("Allgather", "10.65", SKIPPED), ("Alltoall", "10.65", SKIPPED),
        ("Bcast", "0.30", SKIPPED), ("Reduce", "0.30", SKIPPED),  # ranks that only send go on
        ("Allgather", "0.30", INVALID),
    ],
)  # fmt: skip
def test_a_collective_of_nothing_has_no_floor(name: str, mean: str, outcome: Outcome) -> None:
    (found,) = judged(IMB.format(name=name, least=mean, mean=mean), "edr")
    assert found.outcome is outcome, found


NCCL = """\
# nThread 1 nGpus 1 minBytes 0 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on     node1 device  0 [0x07] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid   4711 on     node2 device  0 [0x07] NVIDIA A100-SXM4-40GB
#
#                                                       out-of-place                in-place
#  size    count   type  redop  root    time  algbw  busbw #wrong   time  algbw  busbw #wrong
#   (B) (elements)                      (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)
{rows}# Out of bounds values : 0 OK
# Avg bus bandwidth    : {average}
"""


def nccl(slower: float) -> str:
    rows = ""
    for size, time in ((0, 0.3 / slower), (8, 13.2), (1 << 20, 60.1), (1 << 27, 2900.0)):
        rate = size / (time * slower) / 1e3
        part = f"{time * slower:9.1f}{rate:8.2f}{rate * 1.75:8.2f}      0"
        rows += f"{size:12d}{size // 4:10d}   float   sum   -1{part}{part}\n"
    return NCCL.format(rows=rows, average=21.4 / slower)


LATENCY = ((0, 1.9), (8, 1.95), (1024, 3.1), (65536, 12.8), (1 << 20, 92.0), (4 << 20, 350.0))


def latency(*times: float) -> str:
    each = zip(LATENCY, (*times, *(1.0,) * 6), strict=False)
    rows = ((size, time * slower) for (size, time), slower in each)
    return osu("Latency Test", "Avg Latency(us)", rows)


@pytest.mark.parametrize(
    ("a", "b", "outcome"),
    [
        (nccl(1), nccl(23), "regression"), (nccl(1), nccl(3), "regression"),
        (nccl(1), nccl(1), "invalid"),  # one log twice
        (latency(), latency(1, 1, 100_000), "regression"),
        (latency(), latency(1, 1, 1, 1, 20, 20), "regression"),
        (latency(), latency(1, 1, 1.2), "undecided"),
        (latency(), latency(*(1.02,) * 6), "no regression"),
    ],
)  # fmt: skip
def test_what_is_far_worse_is_no_pass_of_compare(
    tmp_path: Path, a: str, b: str, outcome: str
) -> None:
    for name, text in (("a", a), ("b", b)):
        (tmp_path / name).write_text(text)
    found = compare_operands(str(tmp_path / "a"), str(tmp_path / "b"), tmp_path, 0.05)
    assert found.outcome == outcome


PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 Mtu             : {mtu}[B]
 Link type       : {link}
---------------------------------------------------------------------------------------
 local address: LID {one} QPN 0x0127 PSN 0x2f2a6e RKey 0x1fff00 VAddr 0x007f2b8d0b0000
{gid_one} remote address: LID {other} QPN 0x0128 PSN 0x3a2a6e RKey 0x1fff01 VAddr 0x007f2b8d0c0000
{gid_other}---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             {rate}            {rate}		   {messages}
---------------------------------------------------------------------------------------
"""
_GID = " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:0{}\n"


def perftest(link: str, one: int, other: int, mtu: int = 4096, rate: float = 23350.0) -> str:
    ib = link == "IB"
    lids = [f"0x{end:02x}" if ib else "0000" for end in (one, other)]
    gids = ["" if ib else _GID.format(end) for end in (one, other)]
    return PERFTEST.format(
        mtu=mtu, link=link, one=lids[0], other=lids[1], gid_one=gids[0], gid_other=gids[1],
        rate=f"{rate:.2f}", messages=f"{rate / 62500:.6f}",
    )  # fmt: skip


STARTED = """\
[0] MPI startup(): Intel(R) MPI Library, Version 2021.6  Build 20220227 (id: 28877f3f32)
[0] MPI startup(): libfabric provider: mlx
[0] MPI startup(): Rank    Pid      Node name  Pin cpu
[0] MPI startup(): 0       1471     node017    {{0,1,2,3}}
[0] MPI startup(): 1       1472     {other}    {{4,5,6,7}}
"""
NETPIPE = """\
{0}Sending output to np.out
{0}0: node17
{1}Sending output to np.out
{1}1: {2}
{0}Now starting the main loop
{0}  0:       1 bytes  20000 times -->      4.10 Mbps in       1.86 usec
{0}  1:   65536 bytes   2000 times -->  55000.00 Mbps in       9.09 usec
{0}  2: 4194304 bytes    200 times -->  91000.00 Mbps in     351.65 usec
{0}  3: 12884901888 bytes 3 times -->  91000.00 Mbps in 1080268.80 usec
"""
FULL = osu("Bandwidth Test", "Bandwidth (MB/s)", ((65536, 11900), (4 << 20, 12100)))


@pytest.mark.parametrize(
    ("text", "network", "outcome", "rule"),
    [
        (perftest("IB", 7, 7), "hdr", INVALID, "placement"),
        (perftest("IB", 7, 9), "hdr", PASS, "fraction"),
        (perftest("Ethernet", 1, 1, 1024, 10905), "100GbE roce", INVALID, "placement"),
        (perftest("Ethernet", 1, 2, 1024, 10905), "100GbE roce", PASS, "fraction"),
        (perftest("Ethernet", 1, 2, 1024, 10905), "edr", INVALID, "path"),
        (perftest("Ethernet", 1, 2, 1024, 10905), "100GbE roce mtu=4096", WARN, "mtu"),
        (STARTED.format(other="node017") + FULL, "edr", INVALID, "placement"),
        (STARTED.format(other="node018") + FULL, "edr", PASS, "fraction"),
        (NETPIPE.format("", "", "node17"), "edr", INVALID, "placement"),
        (NETPIPE.format("", "", "node18"), "edr", PASS, "fraction"),
    ],
)
def test_what_a_log_says_of_its_ends_is_evidence(
    text: str, network: str, outcome: Outcome, rule: str
) -> None:
    (found,) = judged(text, network)
    assert (found.outcome, found.rule) == (outcome, rule), found


def test_two_clients_of_iperf_that_number_alike_get_no_figure() -> None:
    heads = "".join(
        f"{'-' * 60}\nClient connecting to 10.0.0.{other}, TCP port 5001\n{'-' * 60}\n"
        f"[  1] local 10.0.0.1 port 4200{other} connected with 10.0.0.{other} port 5001\n"
        for other in (2, 3)
    )
    rows = "[  1] 0.00-10.02 sec  11.5 GBytes  9.87 Gbits/sec\n[  1] 0.00-10.01 sec  1.15 GBytes"
    found = judged(f"{heads}[ ID] Interval       Transfer     Bandwidth\n{rows}  0.98 Gbits/sec\n",
                   "10GbE")  # fmt: skip
    assert {one.outcome for one in found} == {INCONCLUSIVE}
    assert "both numbered" in found[0].summary


SUMMARY = """\
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  11.0 GBytes  9.42 Gbits/sec  112             sender
[  5]   0.00-10.04  sec  11.0 GBytes  9.41 Gbits/sec                  receiver
"""


@pytest.mark.parametrize(
    ("text", "network"),
    [
        (b"\xef\xbb\xbf" + FULL.encode(), "edr"),
        ("".join(f"[rank 1] {line}\n" for line in FULL.splitlines()), "edr"),
        ("On Monday:\n" + "".join(f"> {line}\n" for line in FULL.splitlines()), "edr"),
        (f"# Results\n\n```text\n{FULL}```\n", "edr"),
        (SUMMARY, "10GbE"),
    ],
)
def test_shapes_that_were_refused_are_read(text: str | bytes, network: str) -> None:
    (found,) = judged(text, network)
    assert found.outcome is PASS, found


def test_more_than_the_link_carries_is_above_ceiling_and_says_so() -> None:
    (found,) = judged(osu("Bandwidth Test", "Bandwidth (MB/s)", ((65536, 141000),)), "edr")
    assert (found.outcome, found.rule) == (INVALID, "above-ceiling")


QPERF = "tcp_bw:\n    bw  =  {} GB/sec\ntcp_lat:\n    latency  =  14.3 us\n"


@pytest.mark.parametrize(("rate", "outcome"), [(1.17, PASS), (0.57, INCONCLUSIVE), (3.18, INVALID)])
def test_qperf_without_its_message_size_passes_or_decides_nothing(
    rate: float, outcome: Outcome
) -> None:
    stream, ping_pong = judged(QPERF.format(rate), "10GbE")
    assert (stream.outcome, ping_pong.outcome) == (outcome, SKIPPED), stream


@pytest.mark.parametrize(
    "text", ["EFA/100 Gb/s", "infiniband 100 Gb/s", "slingshot 200", "25GbE mtu=9k", "30 Gb/s"]
)
def test_networks_as_people_write_them_are_understood(text: str) -> None:
    assert stated_network(text).rate_bit_s
