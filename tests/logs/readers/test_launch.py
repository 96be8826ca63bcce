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
LATENCY = "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n1 2.00\n4194304 3.00\n"
IPERF = "iperf3: error - unable to connect to server: Connection refused\n"


@pytest.mark.parametrize("start", [STARTUP, BINDINGS])
@pytest.mark.parametrize("label", ["", "[0] ", "[1,0]<stdout>:"])
def test_each_table_has_the_hosts_of_its_own_start(start: str, label: str) -> None:
    log = start.format("c1", "c2") + LATENCY + start.format("c3", "c3") + LATENCY
    labelled = "".join(label + line for line in log.splitlines(keepends=True))
    curves, strange = found(labelled.encode())
    assert strange == []
    assert [one.evidence.rank_hosts for one in curves] == [("c1", "c2"), ("c3", "c3")]
    assert [one.hosts for one in curves] == [("c1", "c2"), ("c3", "c3")]


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
