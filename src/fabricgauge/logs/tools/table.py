"""The suites that fabricgauge can run, one row each, and the starts of each for a profile.

Sources of the options: OSU's README 7.4; Intel MPI Benchmarks User Guide 2021.x, "Command-Line
Control"; README and man pages of perftest 4.5; iperf3(1) of 3.12; the README of nccl-tests 2.13,
whose options rccl-tests has too; NPtcp(1) of 3.7.2.
"""

from collections.abc import Iterator, Mapping

from fabricgauge.logs.tools.interface import (
    CLIENT,
    DEVICE,
    FOLDER,
    PORT,
    SERVER,
    Effort,
    Start,
    Tool,
)
from fabricgauge.logs.tools.suite_tests import OSU_TESTS, chosen_tests
from fabricgauge.model.plan import BACK

#: Ports. iperf3's default 5201 may belong to another server. NPtcp's default is 5002, and the
#: server of 3.7.2 ignores the option for it.
IPERF3_PORT, NETPIPE_PORT, PERFTEST_PORT = 52010, 5002, 18515

#: A window of IMB's streaming benchmarks has 64 messages: larger sizes take minutes at 1 Gb/s.
LARGEST_STREAMED_BYTES = 1 << 20
LARGEST_NCCL_BYTES = 128 << 20
#: OSU's own limit for collectives (MAX_MSG_SIZE_COLL of osu_util.c).
LARGEST_COLLECTIVE_BYTES = 1 << 20

#: Tests that a suite starts unless others are named.
_OSU = ("osu_latency", "osu_bw", "osu_bibw", "osu_put_latency", "osu_put_bw")
_IMB = ("PingPong", "Uniband", "Biband")
_PERFTEST = tuple(
    f"ib_{verb}_{kind}" for verb in ("send", "write", "read", "atomic") for kind in ("lat", "bw")
)
#: Operations of each kind of connection (InfiniBand Architecture Specification, table 25).
_OPERATIONS = {
    "rc": ("send", "write", "read", "atomic"), "xrc": ("send", "write", "read", "atomic"),
    "uc": ("send", "write"), "ud": ("send",),
}  # fmt: skip
#: perftest's option for each key, and parts of the names of the programs that have it.
_PERFTEST_OPTIONS = {
    "queue-pair": ("-c", ("ib_",)), "path-mtu": ("-m", ("ib_",)), "gid-index": ("-x", ("ib_",)),
    "service-level": ("-S", ("ib_",)), "traffic-class": ("--tclass", ("ib_",)),
    "queue-pairs": ("-q", ("_bw",)), "inline": ("-I", ("ib_send", "ib_write")),
}  # fmt: skip
#: With more than two nodes the first program measures pairs.
_NCCL = ("sendrecv_perf", "all_reduce_perf")
#: Variables with which NCCL and RCCL report their transports (NCCL's documentation, "Environment
#: Variables"); NCCL ignores a dump that it cannot write.
_NCCL_VERBOSE = (
    ("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH,TUNING,ENV"),
    ("NCCL_TOPO_DUMP_FILE", f"{FOLDER}/nccl-topology.xml"),
    ("NCCL_GRAPH_DUMP_FILE", f"{FOLDER}/nccl-graph.xml"),
)  # fmt: skip


def _osu(effort: Effort) -> tuple[Start, ...]:
    """``-m``: the range of sizes; ``-i`` and ``-x``: iterations and warm-up for each size."""
    iterations = ("-i", str(effort.iterations), "-x", str(max(1, effort.iterations // 10)))
    starts = []
    for test in chosen_tests("osu", effort.tests or _OSU):
        largest = LARGEST_COLLECTIVE_BYTES if test.many else effort.largest_bytes
        sizes = ("-m", f"1:{largest}") if test.sized else ()
        starts.append(Start(test.name, (test.program, *sizes, *iterations)))
    return tuple(starts)


def _imb(effort: Effort) -> tuple[Start, ...]:
    """``-iter``: maximum repetitions of one size; ``-msglog``: largest size as a power of two."""
    starts = []
    for test in chosen_tests("imb", effort.tests or _IMB):
        count, largest = effort.iterations, effort.largest_bytes
        if test.streams:
            count, largest = max(1, count // 2), min(largest, LARGEST_STREAMED_BYTES)
        sizes = ("-msglog", str(largest.bit_length() - 1)) if test.sized else ()
        words = (test.program, test.name, "-iter", str(count), *sizes)
        starts.append(Start(f"{test.program} {test.name}", words))
    return tuple(starts)


def _perftest(effort: Effort) -> tuple[Start, ...]:
    """``-R`` connects through the RDMA connection manager, so that the address of the measured
    network selects the device; ``-F`` ignores a variable processor clock.

    The manager has no UC, perftest refuses it for XRC, and it chooses the GID itself: in these
    cases ``-d`` and ``-i`` name the port. Each start has its own TCP port: the previous server may
    still be closing, and would reject a client of the next start.
    """
    kind = effort.verbs.get("queue-pair", "rc")
    by_manager = kind not in ("uc", "xrc") and "gid-index" not in effort.verbs
    iterations = str(max(5, effort.iterations, _min_datagrams(kind, effort)))  # perftest needs 5
    options = (*(("-R",) if by_manager else ("-d", DEVICE, "-i", PORT)), "-F", "-n", iterations)
    servers: dict[str, tuple[str, ...]] = {}
    for program in _PERFTEST:
        verb = program.split("_")[1]
        if verb in _OPERATIONS[kind]:
            sizes = () if verb == "atomic" else ("-a",)
            key_options = _key_options(program, effort.verbs)
            servers[program] = (program, *sizes, *options, *key_options)
    servers["ib_send_bw, both directions"] = (*servers["ib_send_bw"], "-b")
    return tuple(
        Start(name, (*server, "-p", str(port), SERVER), (*server, "-p", str(port)), port)
        for port, (name, server) in enumerate(servers.items(), PERFTEST_PORT)
    )


def _min_datagrams(kind: str, effort: Effort) -> int:
    """Return the datagrams of each size, all of one packet, that prove the path: 2 MB in total."""
    path_mtu = effort.verbs.get("path-mtu", "")
    mtu_bytes = int(path_mtu) if path_mtu in ("256", "512", "2048", "4096") else 1024
    return 1_000_000 // mtu_bytes if kind == "ud" else 0


def _key_options(program: str, verbs: Mapping[str, str]) -> Iterator[str]:
    for key, value in verbs.items():
        option, programs = _PERFTEST_OPTIONS[key]
        if any(part in program for part in programs):
            yield from (option, value.upper() if key == "queue-pair" else value)


def _iperf3(effort: Effort) -> tuple[Start, ...]:
    """Measure one stream in each direction, both directions at once, and parallel streams.

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
    if effort.only_streams:
        tests = {"parallel streams": ("-P", str(effort.streams))}
    return tuple(
        Start(f"iperf3, {name}", (*client, *words), server, IPERF3_PORT)
        for name, words in tests.items()
    )


def _nccl(effort: Effort) -> tuple[Start, ...]:
    """``-f 2`` doubles the size, ``-g 1`` is one GPU for each rank, ``-c 1`` checks the data."""
    sweep = ("-b", "8", "-e", str(LARGEST_NCCL_BYTES), "-f", "2", "-g", "1", "-c", "1")
    iterations = ("-n", str(effort.iterations))
    return tuple(Start(program, (program, *sweep, *iterations)) for program in _NCCL)


def _netpipe(effort: Effort) -> tuple[Start, ...]:
    """``-p 0``: no sizes 3 bytes above and below; ``-n``: repeats instead of 0.5 s per size."""
    server = ("NPtcp", "-p", "0", "-u", str(effort.largest_bytes), "-n", str(effort.iterations))
    client = (server[0], "-h", SERVER, *server[1:], "-o", "/dev/null")
    return (Start("NPtcp, ping-pong", client, server, NETPIPE_PORT),)


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "osu", "mpi", tuple(OSU_TESTS),
            ("/usr/libexec/osu-micro-benchmarks", "/usr/local/libexec/osu-micro-benchmarks",
             "/opt/osu-micro-benchmarks", "/opt/ohpc/pub", "~/.osu_benchmarks_openmpi",
             "~/osu-micro-benchmarks"),
            _osu, "the OSU micro-benchmarks",
        ),
        Tool(
            "imb", "mpi", ("IMB-P2P", "IMB-MPI1", "IMB-RMA"),
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
                variables=_NCCL_VERBOSE, of_pairs=_NCCL[0],
            )
            for name in ("nccl-tests", "rccl-tests")
        ),
        Tool("netpipe", "pair", ("NPtcp",), (), _netpipe, "netpipe-tcp", polls=False),
    )
}  # fmt: skip

#: Effort by the profiles of `check`; a suite needs far more time for the same certainty.
EFFORTS: dict[str, Effort] = {
    "quick": Effort(stream_s=2, iterations=10, streams=4, largest_bytes=4 << 20),
    "standard": Effort(stream_s=5, iterations=30, streams=4, largest_bytes=4 << 20),
    "full": Effort(stream_s=10, iterations=100, streams=4, largest_bytes=4 << 20),
}
