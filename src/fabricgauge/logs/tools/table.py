"""The suites that fabricgauge can run, one row each: programs, tests, and the starts of a profile.

Sources of the options and tests: README of the OSU Micro-Benchmarks 7.4; Intel MPI Benchmarks User
Guide 2021.x, "Command-Line Control", "MPI-1 Benchmarks", "IMB-RMA Benchmarks"; README and man pages
of perftest 4.5; iperf3(1) of 3.12; the README of nccl-tests 2.13, whose options rccl-tests has too;
NPtcp(1) of 3.7.2.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.plan import BACK

#: Words that stand for the addresses of server and client in the measured network.
SERVER = "@server"
CLIENT = "@client"
#: Words that stand for the RDMA device on a node's interface in that network, and its port.
DEVICE = "@device"
PORT = "@port"
#: Word that stands for the folder of a start's raw output.
FOLDER = "@folder"


class Effort(msgspec.Struct, frozen=True):
    """How much one start measures, by profile.

    ``stream_s`` is for programs that stream for a fixed time, ``iterations`` for programs that
    repeat each size. ``streams`` is the largest number of parallel connections. ``verbs`` holds the
    values after the suite's name, by the keys of ``--transport verbs``. ``tests`` are the named
    tests of an MPI suite; if empty, the suite starts its usual ones. With ``only_streams`` iperf3
    makes its test of parallel connections alone.
    """

    stream_s: int
    iterations: int
    streams: int
    largest_bytes: int
    verbs: Mapping[str, str] = {}
    tests: tuple[str, ...] = ()
    only_streams: bool = False


class Start(msgspec.Struct, frozen=True):
    """One start of a program; ``name`` identifies it in the plan.

    The first word of ``client`` and ``server`` is a program of the suite. For an MPI suite each
    rank runs ``client``, and ``server`` is empty. The server listens on ``port``, 0 without one.
    """

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...] = ()
    port: int = 0


class Tool(msgspec.Struct, frozen=True):
    """A suite that fabricgauge can run; ``pair`` programs are a client and a server without MPI.

    ``polls`` is true if they keep a processor busy while they wait, as MPI and verbs do.
    ``technology`` is their use of an Ethernet, which determines their ceiling. With ``if_device``
    that holds only if the interface has an RDMA device; otherwise they use TCP. ``keys`` are the
    keys of ``--transport verbs`` that they accept. ``variables`` are set for each rank unless the
    user has set them. ``of_pairs`` is the start that measures pairs of more than two nodes, while
    the others use all nodes; a suite without it measures two nodes.
    """

    name: str
    kind: Literal["pair", "mpi"]
    programs: tuple[str, ...]
    prefixes: tuple[str, ...]
    starts: Callable[[Effort], tuple[Start, ...]]
    package: str
    polls: bool = True
    technology: str = "ethernet"
    if_device: bool = False
    keys: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    of_pairs: str = ""


class SuiteTest(msgspec.Struct, frozen=True):
    """One test of a suite: the program that has it, and how it is started.

    ``many`` is true if any number of ranks takes part. A sample of a test that ``streams`` is a
    window of messages. A test that is not ``sized`` has no range of sizes.
    """

    name: str
    program: str
    many: bool = False
    streams: bool = False
    sized: bool = True


def _rows(*tests: SuiteTest) -> dict[str, SuiteTest]:
    return {test.name: test for test in tests}


_IMB_MANY = (
    "Sendrecv", "Exchange", "Bcast", "Allgather", "Allgatherv", "Gather", "Gatherv", "Scatter",
    "Scatterv", "Alltoall", "Alltoallv", "Reduce", "Reduce_scatter", "Allreduce", "Barrier",
)  # fmt: skip
IMB_TESTS: Mapping[str, SuiteTest] = _rows(
    SuiteTest("PingPong", "IMB-P2P"),
    SuiteTest("PingPing", "IMB-MPI1"),
    SuiteTest("Uniband", "IMB-MPI1", streams=True),
    SuiteTest("Biband", "IMB-MPI1", streams=True),
    *(SuiteTest(name, "IMB-MPI1", many=True, sized=name != "Barrier") for name in _IMB_MANY),
    *(SuiteTest(name, "IMB-RMA") for name in ("Unidir_put", "Unidir_get", "Bidir_put")),
)

_OSU_PAIR = (
    "osu_latency", "osu_bw", "osu_bibw", "osu_latency_mt", "osu_latency_mp",
    "osu_latency_persistent", "osu_bw_persistent", "osu_bibw_persistent",
    "osu_put_latency", "osu_put_bw", "osu_put_bibw", "osu_get_latency", "osu_get_bw",
    "osu_acc_latency", "osu_get_acc_latency", "osu_cas_latency", "osu_fop_latency",
)  # fmt: skip
_OSU_COLLECTIVES = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
    "gatherv", "reduce", "reduce_scatter", "scatter", "scatterv",
)  # fmt: skip
_WITHOUT_SIZES = ("osu_cas_latency", "osu_fop_latency", "osu_barrier", "osu_ibarrier")
_OSU_MANY = (
    "osu_multi_lat", "osu_mbw_mr", *(f"osu_{name}" for name in _OSU_COLLECTIVES),
    *(f"osu_i{name}" for name in _OSU_COLLECTIVES),
)  # fmt: skip
OSU_TESTS: Mapping[str, SuiteTest] = _rows(
    *(SuiteTest(name, name, sized=name not in _WITHOUT_SIZES) for name in _OSU_PAIR),
    *(SuiteTest(name, name, many=True, sized=name not in _WITHOUT_SIZES) for name in _OSU_MANY),
)

SUITE_TESTS: Mapping[str, Mapping[str, SuiteTest]] = {"imb": IMB_TESTS, "osu": OSU_TESTS}


class ToolWords(msgspec.Struct, frozen=True):
    """The words of ``--tool SUITE[:TEST,…][:KEY=VALUE,…]``; ``keys`` are as they were given."""

    suite: str
    tests: tuple[str, ...] = ()
    keys: str = ""


def read_tool(text: str) -> ToolWords:
    """Read the words of ``--tool``; ``all`` means every test of the suite.

    Raises:
        UsageError: the suite has no test of that name; the message lists its tests.
    """
    suite, _, listed = text.partition(":")
    words = [word.strip() for word in listed.split(",") if word.strip()]
    keys = ",".join(word for word in words if "=" in word)
    names = [word for word in words if "=" not in word]
    tests = SUITE_TESTS.get(suite, {})
    by_folded = {name.casefold(): name for name in tests}
    chosen: list[str] = []
    for name in names:
        if name.casefold() == "all" and tests:
            chosen += tests
        elif name.casefold() in by_folded:
            chosen.append(by_folded[name.casefold()])
        elif tests:
            raise UsageError(f"{suite} has no test {name!r}; available: all, {', '.join(tests)}")
        else:
            raise UsageError(
                f"--tool {suite}:{name}: tests by name are for {' and '.join(SUITE_TESTS)};"
                " write other settings as KEY=VALUE"
            )
    return ToolWords(suite, tuple(dict.fromkeys(chosen)), keys)


def chosen_tests(suite: str, names: Iterable[str]) -> tuple[SuiteTest, ...]:
    return tuple(SUITE_TESTS[suite][name] for name in names)


def measures_many(text: str) -> bool:
    """Check whether the words of ``--tool`` name only tests of any number of ranks."""
    words = read_tool(text)
    tests = chosen_tests(words.suite, words.tests) if words.tests else ()
    return bool(tests) and all(test.many for test in tests)


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
    # perftest needs 5; datagrams prove the path by 2 MB of each size, all of one packet.
    path_mtu = effort.verbs.get("path-mtu", "")
    mtu_bytes = int(path_mtu) if path_mtu in ("256", "512", "2048", "4096") else 1024
    least = 1_000_000 // mtu_bytes if kind == "ud" else 5
    iterations = str(max(effort.iterations, least))
    options = (*(("-R",) if by_manager else ("-d", DEVICE, "-i", PORT)), "-F", "-n", iterations)
    servers: dict[str, tuple[str, ...]] = {}
    for program in _PERFTEST:
        verb = program.split("_")[1]
        if verb in _OPERATIONS[kind]:
            sizes = () if verb == "atomic" else ("-a",)
            servers[program] = (program, *sizes, *options)
            for key, value in effort.verbs.items():
                option, programs = _PERFTEST_OPTIONS[key]
                if any(part in program for part in programs):
                    words = (option, value.upper() if key == "queue-pair" else value)
                    servers[program] += words
    servers["ib_send_bw, both directions"] = (*servers["ib_send_bw"], "-b")
    return tuple(
        Start(name, (*server, "-p", str(port), SERVER), (*server, "-p", str(port)), port)
        for port, (name, server) in enumerate(servers.items(), PERFTEST_PORT)
    )


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
