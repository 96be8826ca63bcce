# ruff: noqa: E501 (a row is one line)
"""Faults whose cause is known, and what is said of each: one row, one fault.

A row has what was planted, or what a public thread ended in, the words that a right answer must
contain, and a function that gives the answer. ``docs/development/cause-truth.md`` shows the table;
``scripts/write-cause-truth`` writes it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from benchmarks.import_truth import tables
from tests.hunt import logs
from tests.judge import planted
from tests.judge import planted_fabric as many
from tests.judge.test_consequences import nothing, of_four, of_two, scattered, touching
from tests.judge.test_foreign_traffic import beside, slow_to_c2
from tests.judge.test_fraction import at, processors, sockets, unsteady
from tests.judge.test_headlines import DEAD_PAIR
from tests.judge.test_host_or_network import bonded, faulty, lossy, with_loopback
from tests.judge.test_levels import toggled_quick
from tests.judge.test_losses import broken_by
from tests.judge.test_placement_and_path import on, with_placements
from tests.judge.test_tcp_limits import RMEM, WMEM, held, with_facts

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.causes import UNKNOWN, UNKNOWN_OF_LOGS
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.fabric import Shaper
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.content.conclusion import decisive_verdicts
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

Result = Literal["named", "candidates", "undecided", "wrong"]
Origin = Literal["log", "public", "planted", "recorded"]

FIXTURES = Path(__file__).parents[1] / "fixtures"
PAGE = Path(__file__).parents[2] / "docs" / "development" / "cause-truth.md"
MARK = "<!-- What follows is written by scripts/write-cause-truth. -->\n"
TWO = ("c1", "c2")
NOTHING_NAMED = (UNKNOWN.cause, UNKNOWN_OF_LOGS.cause)


class Answer(NamedTuple):
    """What is said: the outcome, the headline's words with its subject, and the cause."""

    outcome: Outcome
    words: str
    cause: str


class Case(NamedTuple):
    """``right`` are words that the answer must contain, all of them; ``source`` is an address."""

    origin: Origin
    fault: str
    right: tuple[str, ...]
    answer: Callable[[], Answer]
    source: str = ""

    def result(self) -> Result:
        said = self.answer()
        if all(word in f"{said.words} {said.cause}" for word in self.right):
            return "candidates" if said.cause.startswith("candidates:") else "named"
        open_ = said.outcome in (Outcome.INCONCLUSIVE, Outcome.SKIPPED)
        return "undecided" if open_ or said.cause in NOTHING_NAMED else "wrong"


def log(network: str, text: str | bytes, hosts: tuple[str, ...] = TWO) -> Callable[[], Answer]:
    """The answer on one table of a log, under the network that is stated for it."""

    def answer() -> Answer:
        raw = text.encode() if isinstance(text, str) else text
        (table,) = [one for one in tables(read([raw], "log"), network, hosts) if one.line]
        return Answer(table.outcome, table.summary, table.cause)

    return answer


def fixture(network: str, name: str, hosts: tuple[str, ...] = TWO) -> Callable[[], Answer]:
    return log(network, (FIXTURES / f"{name}.out").read_bytes(), hosts)


def live(make: Callable[[], Run]) -> Callable[[], Answer]:
    """The answer on a run of our own: its headline and the cause of that verdict."""

    def answer() -> Answer:
        found = conclude(make(), DEFAULTS)
        verdict = decisive_verdicts(found)[0]
        return Answer(found.overall, f"{verdict.subject}: {verdict.summary}", verdict.cause)

    return answer


def stored(name: str) -> Callable[[], Answer]:
    (path,) = (FIXTURES / "runs" / name).iterdir()
    return live(lambda: run_files.load(RunDirectory(path)))


def osu(rates: dict[int, float], said: str = "", behind: str = "") -> str:
    """osu_bw with these MB/s by size, and what stands before and behind its table."""
    rows = "".join(f"{size:<10}{rate:>20.2f}\n" for size, rate in rates.items())
    head = "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n"
    return f"$ mpirun -np 2 -H c1,c2 ./osu_bw\n{said}{head}{rows}{behind}"


def large(mb_s: float, small: float = 3.4) -> dict[int, float]:
    """A curve that is flat at its end; ``small`` is at 1 byte: 3.4 of verbs, 0.3 of TCP."""
    return {1: small, 1 << 16: 0.97 * mb_s, 1 << 20: 0.995 * mb_s, 1 << 22: mb_s}


def write_bw(gbit_s: float, link: str = "IB", size: int = 65536) -> str:
    """ib_write_bw --report_gbits."""
    ruler = "-" * 87
    return (
        f"{ruler}\n                    RDMA_Write BW Test\n"
        " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
        " Number of qps   : 1\t\tTransport type : IB\n"
        " Connection type : RC\t\tUsing SRQ      : OFF\n"
        f" Mtu             : 4096[B]\n Link type       : {link}\n{ruler}\n"
        " local address: LID 0x01 QPN 0x0049 PSN 0x8b53ba RKey 0x1fffbf VAddr 0x00799b96ceb000\n"
        " remote address: LID 0x02 QPN 0x0048 PSN 0xee081e RKey 0x1fff00 VAddr 0x007beeab67e000\n"
        f"{ruler}\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" {size:<11}5000             {gbit_s:.2f}             {gbit_s:.2f}             0.2\n{ruler}\n"
    )


def iperf3(gbit_s: float, streams: int = 1) -> str:
    """iperf3 -P, ten seconds."""
    head = "Connecting to host 10.0.0.2, port 5201\n"
    each = gbit_s / streams
    numbers = [5 + 2 * one for one in range(streams)]
    met = "".join(
        f"[{n:3}] local 10.0.0.1 port {40000 + n} connected to 10.0.0.2 port 5201\n"
        for n in numbers
    )
    row = "[{0}]   0.00-10.00  sec  {1:.1f} GBytes  {2:.2f} Gbits/sec{3}\n"
    rows = "".join(
        row.format(f"{n:3}", each * 1.25, each, end)
        for n in numbers
        for end in ("    0             sender", "                  receiver")
    )
    total = "".join(
        row.format("SUM", gbit_s * 1.25, gbit_s, end)
        for end in ("    0             sender", "                  receiver")
    )
    ruler = "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
    title = "[ ID] Interval           Transfer     Bitrate         Retr\n"
    return f"{head}{met}{ruler}{title}{rows}{total if streams > 1 else ''}\niperf Done.\n"


def shaped(fraction: float) -> Run:
    node = planted.node(1)
    ports = tuple(
        msgspec.structs.replace(one, shaper=Shaper(fraction * 1e9 * 1514 / 1538, 32768))
        for one in node.interfaces
    )
    of = planted.fabric()
    of = msgspec.structs.replace(
        of, nodes=(msgspec.structs.replace(node, interfaces=ports), of.nodes[1])
    )
    return planted.run(planted.sound_launches(fraction), of=of)


def crossing(split: planted.Split) -> Run:
    return planted.run(
        planted.changed(
            planted.sound_launches(),
            lambda one: msgspec.structs.replace(
                one,
                counters=tuple(
                    planted.counters(rank, one.payload_sent_bytes[rank], split) for rank in (0, 1)
                ),
            ),
        )
    )


def dead_pair() -> Run:
    run = many.run(many.launch(3, many.rounds(3)))
    return msgspec.structs.replace(run, preflight=(DEAD_PAIR,))


def measured(count: int, shares: many.Pairs, latencies: many.Pairs = many.even) -> Run:
    """All pairs of so many nodes, then each alone."""
    pairs = [(one, two) for one in range(count) for two in range(count) if one != two]
    return many.run(
        many.launch(count, many.rounds(count, shares, latencies)),
        many.again(count, pairs, shares, latencies),
    )


def sender(rank: int, share: float) -> many.Pairs:
    return lambda one, two: many.sound(one, two) * (share if one == rank else 1.0)


def receiver(rank: int, share: float) -> many.Pairs:
    return lambda one, two: many.sound(one, two) * (share if two == rank else 1.0)


def late(rank: int) -> many.Pairs:
    return lambda one, two: many.even(one, two) * (3.0 if rank in (one, two) else 1.0)


TCP, SLOT, LINK, RAIL = ("used TCP",), ("PCIe",), ("lower rate",), ("rails",)
RATE = ("rate limit",)
ONE_NODE = ("on one node",)
LINK_LIVE = ("100 Mb/s instead of 1 Gb/s",)
_UCX = "[1699999999.123456] [c1:1234 :0]     "

CASES: tuple[Case, ...] = (
    # Logs that say it themselves.
    Case("log", "UCX: the device is not there, TCP is", TCP, fixture("edr", "osu/7.3--bw-ucx-notavail")),
    Case("log", "UCX: the endpoint has a lane of TCP", TCP, fixture("edr", "osu/7.3--bw-ucx-log")),
    Case("log", "Open MPI: no connection scheme of openib", TCP, fixture("edr", "osu/7.3--bw-ompi-noconn")),
    Case("log", "Open MPI: openib could not start", TCP, fixture("edr", "osu/7.3--bw-ompi-noinit")),
    Case("log", "Open MPI: the tcp BTL sends", TCP, fixture("edr", "osu/7.3--bw-ompi-btl-tcp")),
    Case("log", "Intel MPI: libfabric's provider is tcp", TCP, fixture("edr", "osu/7.3--bw-impi-prov")),
    Case("log", "UCX 1.15: inter-node lanes of TCP", TCP, log("hdr", osu(large(2310.0, 0.3), f"{_UCX}ucp_worker.c:1888 UCX  INFO    0x1a2b inter-node cfg#2 tag(tcp/ib0)\n"))),
    Case("log", "UCX: no usable transport, another one sends", TCP, log("edr", osu(large(1105.0, 0.3), f"{_UCX}ucp_context.c:1401 UCX  ERROR no usable transports/devices (asked ib on network:mlx5_0:1)\n"))),
    Case("log", "Open MPI: no network interface of the fast module", TCP, log("qdr", osu(large(117.2, 0.25), "[[16012,1],0]: A high-performance Open MPI point-to-point messaging module\nwas unable to find any relevant network interfaces:\n\nModule: OpenFabrics (openib)\n  Host: c1\n\nAnother transport will be used instead, although this may result in\nlower performance.\n"))),
    Case("log", "Open MPI: no active port", TCP, log("fdr", osu(large(1170.4, 0.3), "WARNING: There is at least one OpenFabrics device found but there are no active ports\ndetected (or Open MPI was unable to use them).\n"))),
    Case("log", "Open MPI: memory may not be locked", TCP, log("fdr", osu(large(1120.0, 0.3), "The OpenFabrics (openib) BTL failed to initialize while trying to\nallocate some locked memory.\n"))),
    Case("log", "Intel MPI 2018: TCP data transfer mode", TCP, log("edr", osu(large(1401.0, 0.3), "[0] MPI startup(): shm and tcp data transfer modes\n"))),
    Case("log", "PSM2: no adapter is there", TCP, log("omni-path 100", osu(large(1160.0, 0.3), "c1.4711 PSM2 no hfi units are available (err=23)\n"))),
    Case("log", "MPICH: libfabric's provider is sockets", TCP, log("slingshot11", osu(large(1150.0, 0.2), "libfabric provider: sockets - 10.0.0.0/24\n"))),
    Case("log", "UCX: retries exceeded at 64 KiB", ("the run broke",), fixture("hdr", "osu/7.3--bw-retries-exceeded")),
    Case("log", "Open MPI: retries exceeded", ("the run broke",), log("edr", osu({1: 3.4, 65536: 5100.0}, "", "--------------------------------------------------------------------------\nThe InfiniBand retry count between two MPI processes has been\nexceeded.\n"))),
    Case("log", "Slurm ended the step", ("the run broke",), log("edr", osu({1: 3.4, 65536: 9100.0}, "", "slurmstepd: error: *** STEP 4711.0 ON c1 CANCELLED AT 2025-03-02T11:20:01 DUE TO TIME LIMIT ***\n"))),
    Case("log", "processors change their frequency", ("frequency",), fixture("hdr", "perftest/4.5--write-bw-cpu-frequency")),
    Case("log", "iperf3 on a fabric of RDMA", TCP, log("edr", iperf3(21.4, 8))),
    Case("log", "UCX calls the connection intra-node", ONE_NODE, fixture("edr", "osu/7.0--bw-ucx-intra-node", ())),
    Case("log", "the job script asks for one node", ONE_NODE, log("edr", f"#SBATCH -N1\n#SBATCH -n2\n{osu(large(12_100.0)).replace(' -H c1,c2', '')}", ())),
    Case("log", "the command allows TCP alone", TCP, log("edr", osu(large(1_150.0, 0.3)).replace("-H", "-x UCX_TLS=tcp,self,sm -H"))),
    Case("log", "NCCL: an adapter's port fails in mid-run", ("a link went down",), fixture("ndr", "nccl-tests/2.13--link-flapped", ())),
    Case("log", "osu_allreduce quicker than the wire", ("shared memory",), log("edr", logs.osu_collective("MPI Allreduce", 0.3))),
    Case("log", "one iteration without warm-up", ("iterate once",), log("edr", osu(large(12_290.0)).replace("./osu_bw", "./osu_bw -i 1 -x 0"))),
    # Known rates, planted as a log's figures.
    Case("log", "EDR port at one lane", LINK, log("edr", write_bw(24.6))),
    Case("log", "HDR adapter on an EDR cable", LINK, log("hdr", write_bw(98.7))),
    Case("log", "NDR adapter in a slot of PCIe 4.0 x16", SLOT, log("ndr", write_bw(208.0))),
    Case("log", "EDR adapter in a slot of PCIe 3.0 x8", SLOT, log("edr", write_bw(55.6))),
    Case("log", "FDR adapter in a slot of PCIe 2.0 x8", SLOT, log("fdr", write_bw(26.3))),
    Case("log", "one of two rails", RAIL, log("edr rails=2", osu(large(12_290.0)))),
    Case("log", "three of four rails", RAIL, log("hdr rails=4", osu(large(73_900.0)))),
    Case("log", "MPI on the management network of 1 Gb/s", ("another network",), log("hdr", osu(large(117.4, 0.25)))),
    Case("log", "MPI on a storage network of 10 Gb/s", ("another network",), log("ndr", osu(large(1_176.0, 0.3)))),
    Case("log", "Omni-Path link at three lanes", LINK, log("omni-path 100", osu(large(9_260.0)))),
    Case("log", "Slingshot-11 link at 100 Gb/s", LINK, log("slingshot11", osu(large(12_300.0)))),
    Case("log", "25GbE link at 10 Gb/s", LINK, log("25GbE", iperf3(9.41, 8))),
    Case("log", "100GbE RoCE link at 40 Gb/s", LINK, log("100GbE roce", write_bw(38.9, "Ethernet"))),
    Case("log", "messages of 64 KiB at most", ("still rises",), log("hdr", osu({1: 3.4, 1 << 14: 5_200.0, 1 << 15: 8_900.0, 1 << 16: 13_900.0}))),
    # Public threads: figures and causes are theirs, the form is ours.
    Case("public", "two ports of 10 Gb/s in PCIe 2.0 x4", SLOT, log("10GbE rails=2", iperf3(13.9, 8)), "https://ahelpme.com/tag/10-gigabit-sfi-sfp/"),
    Case("public", "25GbE adapter at two lanes of PCIe 3.0", SLOT, log("25GbE", iperf3(13.0, 4)), "https://lists.freebsd.org/archives/freebsd-hackers/2025-August/004922.html"),
    Case("public", "SDR adapter in PCIe 1.0 x4", SLOT, log("sdr", osu(large(600.0))), "http://blogs.technet.com/b/gmarchetti/archive/2008/05/07/4x4-and-other-quick-tips.aspx"),
    Case("public", "QDR adapter in PCIe 2.0 x8", SLOT, log("qdr", write_bw(25.8)), "https://mellanox38.rssing.com/chan-11689824/article788.html"),
    Case("public", "iperf3, one process on 100 Gb/s, 16 streams", ("processors limit",), log("100GbE", iperf3(35.2, 16)), "https://github.com/esnet/iperf/issues/286"),
    Case("public", "iperf3 3.9 on 100 Gb/s, one thread", ("processors limit",), log("100GbE", iperf3(61.9, 8)), "https://github.com/esnet/iperf/issues/1664"),
    Case("public", "iperf3 on 100 Gb/s, slow processors", ("processors limit",), log("100GbE", iperf3(66.4, 20)), "https://github.com/esnet/iperf/issues/2031"),
    Case("public", "two HDR ports of one adapter in one slot", SLOT, log("hdr rails=2", osu({1: 1.78, 1 << 16: 18_442.38, 1 << 20: 21_099.92, 1 << 22: 21_307.34})), "https://github.com/openucx/ucx/issues/8851"),
    Case("public", "two HDR adapters on cables of 100 Gb/s", LINK, log("hdr rails=2", osu(large(24_000.0))), "https://github.com/NVIDIA/nccl/issues/307"),
    Case("public", "10GbE, untuned hosts, MTU 1500, one stream", ("processor",), log("10GbE", iperf3(7.24)), "https://github-wiki-see.page/m/shawfdong/hyades/wiki/iperf3"),
    Case("public", "UCX over verbs on Omni-Path", ("verbs",), log("omni-path 100", osu({65536: 4_986.6, 131072: 6_066.4, 262144: 6_644.86, 524288: 5_776.96, 1 << 20: 4_004.36, 1 << 21: 3_729.25, 1 << 22: 3_763.7})), "https://github.com/openucx/ucx/issues/3196"),
    Case("public", "ib_send_bw of 65,537 bytes on 100GbE", ("size",), log("100GbE roce", write_bw(22.5, "Ethernet", 65537)), "https://mellanox37.rssing.com/chan-11689808/article3279.html"),
    Case("public", "25 Gb/s in a cloud that limits one connection to 5 Gb/s", ("limit for one connection",), log("25GbE", iperf3(4.97)), "https://github.com/nats-io/nats-server/issues/4695"),
    Case("public", "25 Gb/s in a cloud that limits one connection to 10 Gb/s", ("limit for one connection",), log("25GbE", iperf3(9.6)), "https://github.com/C5T/Current/pull/861"),
    Case("public", "iperf3, one stream on 40 Gb/s", ("one TCP connection",), log("40GbE", iperf3(4.18)), "https://github.com/esnet/iperf/issues/408"),
    Case("public", "MPICH without a channel for InfiniBand, on HDR", TCP, log("hdr", osu({1 << 22: 170.0})), "https://github.com/pmodels/mpich/issues/6157"),
    Case("public", "UCX_NET_DEVICES=ib0 on EDR", TCP, fixture("edr", "ucx_perftest/1.9--tag-bw-over-ib0"), "https://github.com/openucx/ucx/issues/5252"),
    Case("public", "UCX has no iWARP: 16 µs instead of 4", ("TCP carried",), log("10GbE iwarp", "$ mpirun -np 2 -H c1,c2 osu_latency -m 1\n# OSU MPI Latency Test v5.4.1\n# Size          Latency (us)\n0                      16.00\n1                      16.00\n"), "https://github.com/open-mpi/ompi/issues/7861"),
    Case("public", "Open MPI: --host names one node with two slots", ONE_NODE, fixture("10GbE iwarp", "osu/5.4.1--latency-host-with-two-ranks", ()), "https://github.com/open-mpi/ompi/issues/7861"),
    Case("public", "EFA inside one node: an allocation of one node", ONE_NODE, fixture("EFA/100 Gb/s", "osu/5.6.1--latency-allocation-of-one-node", ()), "https://github.com/aws/aws-parallelcluster/issues/1143"),
    Case("public", "osu_acc_latency of 0.79 µs with libfabric's efa", ONE_NODE, fixture("EFA/100 Gb/s", "osu/5.7--accumulate-latency-efa-two-ranks", ()), "https://github.com/ofiwg/libfabric/issues/6698"),
    Case("public", "iperf3 3.0 on 10 Gb/s, one thread for all streams", ("processors limit",), log("10GbE", iperf3(6.75, 16)), "https://github.com/esnet/iperf/issues/123"),
    Case("public", "HDR adapter on AMD without relaxed ordering", ("ordering",), log("hdr", write_bw(150.0)), "https://github.com/openucx/ucx/pull/8062"),
    Case("public", "NDR adapter on Emerald Rapids without relaxed ordering", ("ordering",), log("ndr", osu(large(16_000.0))), "https://github.com/openucx/ucx/pull/10955"),
    Case("public", "old firmware of an adapter, from GPU memory", ("firmware",), fixture("hdr", "ucx_perftest/1.16--tag-bw-cuda"), "https://github.com/open-mpi/ompi/issues/11987"),
    Case("public", "40GbE adapter in PCIe 2.0 x4, one stream", SLOT, log("40GbE", iperf3(11.0)), "https://www.sqlpassion.at/archive/2025/06/16/maximizing-40g-nic-performance-on-linux-with-intel-xl710-and-cisco-nexus-switches"),
    # Our own runs, planted.
    Case("planted", "two nodes, link at 10 % of its rate", LINK_LIVE, live(lambda: at(0.0995))),
    Case("planted", "two nodes, link kept to 30 %, losses of large messages", RATE, live(lambda: of_two(0.3, 0.02, 0.0))),
    Case("planted", "two nodes, half rate, no losses", ("1/2 of the rate",), live(lambda: with_loopback(0.5, 2e9))),
    Case("planted", "two nodes, random loss of 2 %", ("TCP lost", "cable"), live(lambda: of_two(0.3, 0.02, 0.02))),
    Case("planted", "token bucket on c1", ("token bucket on c1:eth0",), live(lambda: shaped(0.3))),
    Case("planted", "port of c2 at 600 Mb/s", ("c2:eth0 runs at 600 Mb/s",), live(lambda: faulty(with_loopback(0.5, 2e9), lossy(0, 0.0), 0.6e9))),
    Case("planted", "frames with errors on an interface", ("loses frames",), live(lambda: faulty(with_loopback(0.6, 2e9), lossy(50_000, 0.0)))),
    Case("planted", "host: loopback is as slow", ("a host",), live(lambda: with_loopback(0.5, 90e6))),
    Case("planted", "host: ranks wait for processors", ("a host",), live(lambda: at(0.6, unsteady(processors(run_delay_s=0.25))))),
    Case("planted", "host: interrupts fill a processor", ("a host",), live(lambda: at(0.6, processors(busiest_softirq_share=0.97)))),
    Case("planted", "host: sender idle half of the time", ("a host",), live(lambda: at(0.5, sockets(busy_s=0.2)))),
    Case("planted", "tcp_wmem of c1 is 16 KiB", ("tcp_wmem of c1",), live(lambda: with_facts(at(0.54, held(sender=0.9)), {WMEM: "4096 16384 16384"}, {}))),
    Case("planted", "tcp_rmem of c2 is 32 KiB", ("tcp_rmem of c2",), live(lambda: with_facts(at(0.54, held(receiver=0.97)), {}, {RMEM: "4096 16384 32768"}))),
    Case("planted", "a locked window on c2", ("receive window of c2",), live(lambda: with_facts(at(0.54, held(receiver=0.99, rtt_s=3e-5)), {}, {}))),
    Case("planted", "another interface carried the bytes", ("crossed eth1",), live(lambda: crossing({"eth1": 1.0}))),
    Case("planted", "two interfaces shared the bytes", ("eth1",), live(lambda: crossing({"eth0": 0.5, "eth1": 0.5}))),
    Case("planted", "counters and connections stand still", ("did not move with the payload",), live(lambda: planted.run(planted.without_sockets(crossing({"eth0": 0.0}).launches)))),
    Case("planted", "counters stand still beside connections", ("lag behind",), live(lambda: crossing({"eth0": 0.0}))),
    Case("planted", "cable pulled in mid-run", ("lost its carrier",), live(lambda: broken_by("c2:eth0 (net1) has lost its carrier: the cable is gone", "link"))),
    Case("planted", "node restarted in mid-run", ("restarted",), live(lambda: broken_by("c2 was rebooted since discovery", "node"))),
    Case("planted", "node restarted between discovery and a launch", ("c2", "started again"), live(lambda: with_placements(on(0, "c1", "boot-c1", "net:[0]"), on(1, "c2", "boot-x", "net:[1]")))),
    Case("planted", "other traffic on the interface of c2", ("c2", "other traffic"), live(lambda: planted.run(beside(slow_to_c2(0.6), "c2", received=0.4)))),
    Case("planted", "link whose rate toggles", ("renegotiates",), live(toggled_quick)),
    Case("planted", "address lost in mid-run", ("address",), live(lambda: broken_by("c2:eth0 (net1) has lost its address 10.77.0.12", "address"))),
    Case("planted", "bond: one connection fills one port", ("bond",), live(lambda: bonded(0.49, 2))),
    Case("planted", "dead pair", ("c1 and c3",), live(dead_pair)),
    Case("planted", "c3 at 30 % of four, losses of large messages", ("c3", *RATE), live(lambda: of_four(many.slow(2, share=0.3), touching(2), nothing))),
    Case("planted", "c3 at 75 % of four, losses of large messages", ("c3", *RATE), live(lambda: of_four(many.slow(2, share=0.75), touching(2), nothing))),
    Case("planted", "c2 and c3 at half of four", RATE, live(lambda: of_four(many.slow(1, 2, share=0.5), touching(1, 2), nothing))),
    Case("planted", "three of four at half", ("1/2 of the rate",), live(lambda: of_four(many.slow(1, 2, 3, share=0.5), touching(1, 2, 3), nothing))),
    Case("planted", "all four at half", ("1/2 of the rate",), live(lambda: of_four(many.slow(0, 1, 2, 3, share=0.5), touching(0, 1, 2, 3), nothing))),
    Case("planted", "c3 of four loses frames of every size", ("c3", "TCP lost", "cable"), live(lambda: of_four(scattered(2), touching(2), touching(2)))),
    Case("planted", "c3 of eight at a quarter", ("c3",), live(lambda: measured(8, many.slow(2)))),
    Case("planted", "c3 of six sends at half", ("c3", "sending"), live(lambda: measured(6, sender(2, 0.5)))),
    Case("planted", "c3 of six receives at half", ("c3", "receiving"), live(lambda: measured(6, receiver(2, 0.5)))),
    Case("planted", "c3 of six three times as late", ("c3", "latency"), live(lambda: measured(6, many.sound, late(2)))),
    # Our own runs, recorded on virtual clusters.
    Case("recorded", "c3 of four at 300 Mb/s", ("c3",), stored("0.1.0--slow-node")),
    Case("recorded", "c3 of three slow", ("c3",), stored("0.1.0--slow-node-of-three")),
    Case("recorded", "c3 slow as it sends", ("c3",), stored("0.1.0--slow-node-sending")),
    Case("recorded", "link at a tenth", ("100 Mb/s",), stored("0.1.0--slow-link")),
    Case("recorded", "one direction slow", ("c2 → c1",), stored("0.1.0--slow-direction")),
    Case("recorded", "link lost in mid-run", ("carrier",), stored("0.1.0--lost-link")),
    Case("recorded", "busy host", ("a host",), stored("0.1.0--host-limited")),
    Case("recorded", "both ranks on one node", ("one",), stored("0.1.0--one-node")),
    Case("recorded", "MTU 1400 on one node", ("MTU",), stored("0.1.0--small-mtu")),
    Case("recorded", "iperf3 on a slow link", ("100 Mb/s",), stored("0.1.0--iperf3-slow-link")),
)  # fmt: skip


def rows(cases: Iterable[Case] = CASES) -> Iterator[tuple[Case, Result]]:
    return ((one, one.result()) for one in cases)


def page(written: str) -> str:
    """The page with what follows the mark replaced by today's results."""
    head, mark, _ = written.partition(MARK)
    if not mark:
        raise ValueError(f"{PAGE} has lost the line {MARK!r}")
    found = list(rows())
    kinds: tuple[Result, ...] = ("named", "candidates", "undecided", "wrong")
    counts = Counter((one.origin, result) for one, result in found)
    origins = list(dict.fromkeys(one.origin for one in CASES))
    lines = [
        "| origin | faults | named | among candidates | undecided | wrong |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for origin in origins:
        each = [counts[origin, kind] for kind in kinds]
        lines.append(f"| {origin} | {sum(each)} | {' | '.join(str(n or '') for n in each)} |")
    total = [sum(counts[origin, kind] for origin in origins) for kind in kinds]
    lines.append(f"| all | {sum(total)} | {' | '.join(map(str, total))} |")
    lines += ["", "| origin | fault | result | outcome |", "| --- | --- | --- | --- |"]
    for one, result in found:
        where = f"[{one.fault}]({one.source})" if one.source else one.fault
        lines.append(f"| {one.origin} | {where} | {result} | `{one.answer().outcome.value}` |")
    return head + mark + "\n" + "\n".join(lines) + "\n"
