"""Which ports the connectivity round uses."""

import pytest

from fabricgauge.nodes.connectivity import FIRST_PORT, PORT_COUNT, PORTS, mpi_ports


@pytest.mark.parametrize(
    ("variables", "ports"),
    [
        ({"MPICH_PORT_RANGE": "20000:20100"}, range(20000, 20101)),
        ({"UCX_TCP_PORT_RANGE": "5000-5000"}, range(5000, 5001)),
        ({FIRST_PORT: "10000", PORT_COUNT: "50"}, range(10000, 10050)),
        ({"MPICH_PORT_RANGE": "0:0"}, PORTS),  # any port (MPICH)
        ({"I_MPI_PORT_RANGE": "many"}, PORTS),
        ({FIRST_PORT: "65000", PORT_COUNT: "9000"}, PORTS),
        ({}, PORTS),
    ],
)
def test_ports_are_those_that_the_environment_leaves_mpi(
    variables: dict[str, str], ports: range
) -> None:
    assert mpi_ports(variables) == ports
