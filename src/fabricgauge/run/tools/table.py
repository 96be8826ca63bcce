"""The suites that can be run: a row each, and what each starts for a profile.

The options are those of the suites' own manuals: OSU's README 7.4; Intel MPI Benchmarks User Guide
2021.x, "Command-Line Control"; README and man pages of perftest 4.5; iperf3(1) of 3.12; the README
of nccl-tests 2.13, whose options rccl-tests has too; NPtcp(1) of 3.7.2.
"""

from collections.abc import Iterator, Mapping

from fabricgauge.model.plan import BACK
from fabricgauge.run.tools.interface import (
    CLIENT,
    DEVICE,
    FOLDER,
    PORT,
    SERVER,
    Effort,
    Start,
    Tool,
)

#: Of iperf3 not its own 5201, which another server may have; NPtcp's own is 5002, and the server
#: of 3.7.2 ignores the option for it.
IPERF3_PORT, NETPIPE_PORT, PERFTEST_PORT = 52010, 5002, 18515

#: A window of IMB's streaming benchmarks is 64 messages: larger ones take minutes at 1 Gb/s.
LARGEST_STREAMED_BYTES = 1 << 20
LARGEST_NCCL_BYTES = 128 << 20

_OSU = ("osu_latency", "osu_bw", "osu_bibw", "osu_put_latency", "osu_put_bw")
_PERFTEST = tuple(
    f"ib_{verb}_{kind}" for verb in ("send", "write", "read", "atomic") for kind in ("lat", "bw")
)
#: What a connection of each kind can do (InfiniBand Architecture Specification, table 25).
_VERBS_OF = {
    "rc": ("send", "write", "read", "atomic"), "xrc": ("send", "write", "read", "atomic"),
    "uc": ("send", "write"), "ud": ("send",),
}  # fmt: skip
#: perftest's option for a key, and the programs that have it: part of their names.
_PERFTEST_OPTIONS = {
    "queue-pair": ("-c", ("ib_",)), "path-mtu": ("-m", ("ib_",)), "gid-index": ("-x", ("ib_",)),
    "service-level": ("-S", ("ib_",)), "traffic-class": ("--tclass", ("ib_",)),
    "queue-pairs": ("-q", ("_bw",)), "inline": ("-I", ("ib_send", "ib_write")),
}  # fmt: skip
#: The first measures pairs where there are more than two nodes.
_NCCL = ("sendrecv_perf", "all_reduce_perf")
#: NCCL's documentation, "Environment Variables", names that RCCL has kept; a dump that it cannot
#: write it leaves out.
_NCCL_TELLS = (
    ("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH,TUNING,ENV"),
    ("NCCL_TOPO_DUMP_FILE", f"{FOLDER}/nccl-topology.xml"),
    ("NCCL_GRAPH_DUMP_FILE", f"{FOLDER}/nccl-graph.xml"),
)  # fmt: skip


def _osu(effort: Effort) -> tuple[Start, ...]:
    """``-m``: the range of sizes; ``-i`` and ``-x``: iterations and warm-up for every size."""
    sizes = ("-m", f"1:{effort.largest_bytes}")
    times = ("-i", str(effort.iterations), "-x", str(max(1, effort.iterations // 10)))
    return tuple(Start(program, (program, *sizes, *times)) for program in _OSU)


def _imb(effort: Effort) -> tuple[Start, ...]:
    """``-iter``: the most repetitions of one size; ``-msglog``: the largest as a power of two."""
    streamed = min(effort.largest_bytes, LARGEST_STREAMED_BYTES)
    fewer = max(1, effort.iterations // 2)
    return tuple(
        Start(
            f"{program} {benchmark}",
            (program, benchmark, "-iter", str(times), "-msglog", str(largest.bit_length() - 1)),
        )
        for program, benchmark, times, largest in (
            ("IMB-P2P", "PingPong", effort.iterations, effort.largest_bytes),
            ("IMB-MPI1", "Uniband", fewer, streamed),
            ("IMB-MPI1", "Biband", fewer, streamed),
        )
    )


def _perftest(effort: Effort) -> tuple[Start, ...]:
    """``-R`` connects through the RDMA connection manager, so that the address of the measured
    network chooses the device; ``-F`` goes on although the processor's clock is governed.

    The manager knows no UC, perftest refuses it for XRC, and it chooses the GID by itself: there
    ``-d`` and ``-i`` name the port. Each start has a port of its own: the server before it may
    still be closing its own, and a client that takes it for the next one is rejected.
    """
    kind = effort.verbs.get("queue-pair", "rc")
    by_manager = kind not in ("uc", "xrc") and "gid-index" not in effort.verbs
    iterations = str(max(5, effort.iterations, _to_tell(kind, effort)))  # fewer are refused
    said = (*(("-R",) if by_manager else ("-d", DEVICE, "-i", PORT)), "-F", "-n", iterations)
    servers: dict[str, tuple[str, ...]] = {}
    for program in _PERFTEST:
        verb = program.split("_")[1]
        if verb in _VERBS_OF[kind]:
            sizes = () if verb == "atomic" else ("-a",)
            asked = _asked(program, effort.verbs)
            servers[program] = (program, *sizes, *said, *asked)
    servers["ib_send_bw, both directions"] = (*servers["ib_send_bw"], "-b")
    return tuple(
        Start(name, (*server, *at, SERVER), (*server, *at), port)
        for port, (name, server) in enumerate(servers.items(), PERFTEST_PORT)
        for at in [("-p", str(port))]
    )


def _to_tell(kind: str, effort: Effort) -> int:
    """How many datagrams of each size, all of one packet, show the path: 2 MB in all."""
    asked = effort.verbs.get("path-mtu", "")
    mtu_bytes = int(asked) if asked in ("256", "512", "2048", "4096") else 1024
    return 1_000_000 // mtu_bytes if kind == "ud" else 0


def _asked(program: str, verbs: Mapping[str, str]) -> Iterator[str]:
    for key, value in verbs.items():
        option, programs = _PERFTEST_OPTIONS[key]
        if any(part in program for part in programs):
            yield from (option, value.upper() if key == "queue-pair" else value)


def _iperf3(effort: Effort) -> tuple[Start, ...]:
    """One stream each way, both ways at once, and as many streams as were asked for.

    ``-1``: the server serves one test; ``-O``: the first second, in which the window opens, does
    not count.
    """
    port = ("-p", str(IPERF3_PORT))
    client = (
        "iperf3", "-c", SERVER, "-B", CLIENT, *port, "-J", "-t", str(effort.stream_s), "-O", "1",
        "--connect-timeout", "5000",
    )  # fmt: skip
    server = ("iperf3", "-s", "-1", "-B", SERVER, *port)
    tests: dict[str, tuple[str, ...]] = {
        "one stream": (),
        f"one stream{BACK}": ("-R",),
        f"{effort.streams} streams": ("-P", str(effort.streams)),
        "both directions": ("--bidir",),
    }
    return tuple(
        Start(f"iperf3, {name}", (*client, *words), server, IPERF3_PORT)
        for name, words in tests.items()
    )


def _nccl(effort: Effort) -> tuple[Start, ...]:
    """``-f 2`` doubles the size, ``-g 1`` is one GPU for each rank, ``-c 1`` checks the data."""
    sweep = ("-b", "8", "-e", str(LARGEST_NCCL_BYTES), "-f", "2", "-g", "1", "-c", "1")
    times = ("-n", str(effort.iterations))
    return tuple(Start(program, (program, *sweep, *times)) for program in _NCCL)


def _netpipe(effort: Effort) -> tuple[Start, ...]:
    """``-p 0``: only the sizes themselves, not those three bytes beside each; ``-n``: a fixed
    number of repeats instead of half a second for each size.
    """
    server = ("NPtcp", "-p", "0", "-u", str(effort.largest_bytes), "-n", str(effort.iterations))
    client = (server[0], "-h", SERVER, *server[1:], "-o", "/dev/null")
    return (Start("NPtcp, ping-pong", client, server, NETPIPE_PORT),)


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "osu", "mpi", _OSU,
            ("/usr/libexec/osu-micro-benchmarks", "/usr/local/libexec/osu-micro-benchmarks",
             "/opt/osu-micro-benchmarks", "/opt/ohpc/pub", "~/.osu_benchmarks_openmpi",
             "~/osu-micro-benchmarks"),
            _osu, "the OSU micro-benchmarks",
        ),
        Tool(
            "imb", "mpi", ("IMB-P2P", "IMB-MPI1"),
            ("/opt/intel/oneapi/mpi/latest/bin", "/opt/intel/oneapi/mpi/latest/benchmarks/imb"),
            _imb, "intel-oneapi-mpi, or impi-rt from PyPI",
        ),
        Tool(
            "perftest", "pair", _PERFTEST, (), _perftest, "perftest", technology="roce-v2",
            keys=tuple(_PERFTEST_OPTIONS),
        ),
        Tool("iperf3", "pair", ("iperf3",), (), _iperf3, "iperf3", polls=False),
        *(
            Tool(
                name, "mpi", _NCCL,
                (f"/opt/{name}/build", f"/usr/local/{name}/build", f"~/{name}/build"),
                _nccl, f"{name}, built with MPI=1", technology="roce-v2", if_device=True,
                variables=_NCCL_TELLS, of_pairs=_NCCL[0],
            )
            for name in ("nccl-tests", "rccl-tests")
        ),
        Tool("netpipe", "pair", ("NPtcp",), (), _netpipe, "netpipe-tcp", polls=False),
    )
}  # fmt: skip

#: What the profiles of `check` allow a suite; it takes far longer for the same certainty.
EFFORTS: dict[str, Effort] = {
    "quick": Effort(stream_s=2, iterations=10, streams=4, largest_bytes=4 << 20),
    "standard": Effort(stream_s=5, iterations=30, streams=4, largest_bytes=4 << 20),
    "full": Effort(stream_s=10, iterations=100, streams=4, largest_bytes=4 << 20),
}
