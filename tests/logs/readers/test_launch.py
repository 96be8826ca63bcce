"""What an MPI's start tells above a suite's output belongs to that output alone."""

import pytest
from tests.logs.readers.reading import found

STARTUP = """[0] MPI startup(): Intel(R) MPI Library, Version 2021.11  Build 20231005 (id: 74c4a23)
[0] MPI startup(): library kind: release
[0] MPI startup(): libfabric version: 1.18.1-impi
[0] MPI startup(): libfabric provider: mlx
[0] MPI startup(): Rank    Pid      Node name       Pin cpu
[0] MPI startup(): 0       17077    {}  {{0,1,15}}
[0] MPI startup(): 1       3475     {}  {{0,
                                           1,15}}
[0] MPI startup(): I_MPI_DEBUG=5
"""
BINDINGS = """[{}:4711] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/././.]
[{}:4712] MCW rank 1 is not bound (or bound to all available processors)
"""
MAP = """ Data for JOB [26233,1] offset 0 Total slots allocated 4

 ========================   JOB MAP   ========================

 Data for node: {0}\tNum slots: 2\tMax slots: 0\tNum procs: 1
 \tProcess OMPI jobid: [26233,1] App: 0 Process rank: 0 Bound: N/A

 Data for node: {1}\tNum slots: 2\tMax slots: 0\tNum procs: 1
 \tProcess OMPI jobid: [26233,1] App: 0 Process rank: 1 Bound: N/A

 =============================================================
"""
MAP_5 = """========================   JOB MAP   ========================
Data for JOB prterun-{0}-301741@1 offset 0 Total slots allocated 4

Data for node: {0}\tNum slots: 2\tMax slots: 0\tNum procs: 1
        Process jobid: prterun-{0}-301741@1 App: 0 Process rank: 0 Bound: package[0][core:0]

Data for node: {1}\tNum slots: 2\tMax slots: 0\tNum procs: 1
        Process jobid: prterun-{0}-301741@1 App: 0 Process rank: 1 Bound: package[0][core:1]

=============================================================
"""
MASKS = """cpu-bind=MASK - {1}, task  1  0 [433646]: mask 0xaaaaaaa set
cpu-bind=MASK - {0}, task  0  0 [433645]: mask 0x5555555 set
"""
LATENCY = "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n1 2.00\n4194304 3.00\n"
IPERF = "iperf3: error - unable to connect to server: Connection refused\n"


@pytest.mark.parametrize("start", [STARTUP, BINDINGS, MAP, MAP_5, MASKS])
@pytest.mark.parametrize("label", ["", "[0] ", "[1,0]<stdout>:"])
def test_each_table_has_the_hosts_of_its_own_start(start: str, label: str) -> None:
    log = start.format("c1", "c2") + LATENCY + start.format("c3", "c3") + LATENCY
    labelled = "".join(label + line for line in log.splitlines(keepends=True))
    curves, strange = found(labelled.encode())
    assert strange == []
    assert [one.evidence.rank_hosts for one in curves] == [("c1", "c2"), ("c3", "c3")]
    assert [one.hosts for one in curves] == [("c1", "c2"), ("c3", "c3")]


def test_a_command_above_another_start_counts_for_its_table() -> None:
    masks, command = MASKS.format("c1", "c2"), "+ srun -n 2 osu_{} -m 65536:65536\n"
    bandwidth = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n65536  1110.1\n"
    log = command.format("latency") + masks + LATENCY + command.format("bw") + masks + bandwidth
    curves, _ = found(log.encode())
    assert [one.evidence.rank_hosts for one in curves] == [("c1", "c2")] * 2
    assert curves[1].cut_off == ""
    without = found((masks + LATENCY + masks + bandwidth).encode())[0]
    assert without[1].cut_off


def test_both_ranks_below_one_node_of_a_map_share_it() -> None:
    process = " \tProcess OMPI jobid: [1,1] App: 0 Process rank: {} Bound: N/A\n"
    node = " Data for node: c1\tNum slots: 2\tMax slots: 0\tNum procs: 2\n"
    log = node + process.format(0) + process.format(1) + LATENCY
    ((curve,), strange) = found(log.encode())
    assert strange == []
    assert curve.find_shared_node(curve.evidence.rank_hosts) == ("c1", "both ends")


def test_the_mask_of_a_job_s_shell_alone_names_no_hosts() -> None:
    (curve,) = found((MASKS.splitlines(keepends=True)[1].format("c1") + LATENCY).encode())[0]
    assert curve.evidence.rank_hosts == ()


def test_library_and_provider_are_told() -> None:
    (curve,) = found((STARTUP.format("c1", "c2") + LATENCY).encode())[0]
    assert (curve.evidence.library, curve.evidence.provider) == ("Intel MPI 2021.11", "mlx")


def test_a_table_with_a_rank_left_out_names_no_hosts() -> None:
    lines = STARTUP.format("c1", "c2").splitlines(keepends=True)
    curves, _ = found(("".join(lines[:5] + lines[6:]) + LATENCY).encode())
    assert curves[0].evidence.rank_hosts == ()


def test_of_more_ranks_than_took_part_the_first_ones_count() -> None:
    more = "[0] MPI startup(): 2       99    c9  {1}\n"
    imb = "#----\n# Benchmarking PingPong\n# #processes = 2\n#----\n"
    columns = "#bytes #repetitions t[usec] Mbytes/sec\n"
    log = STARTUP.format("c1", "c2") + more + imb + columns + "0 1000 1.50 0.00\n1 1000 1.60 0.62\n"
    curves, _ = found(log.encode())
    assert {one.evidence.rank_hosts for one in curves} == {("c1", "c2")}


def test_programs_that_no_mpi_starts_have_nothing_of_it() -> None:
    (curve,) = found((STARTUP.format("c1", "c2") + IPERF).encode())[0]
    assert (curve.hosts, curve.evidence.rank_hosts, curve.evidence.provider) == ((), (), "")
