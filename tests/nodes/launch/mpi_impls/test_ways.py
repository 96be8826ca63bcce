"""What MPIs say that they use: lines of real runs, and lines that say nothing of it."""

import os
from pathlib import Path

import pytest
from tests.nodes.launch.mpi_impls.test_mpi_impls import MPIS, REACHES, built

from fabricgauge.model.engine import Engine
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.nodes.launch.mpi_impls import (
    MOST_VERBOSE_RANKS,
    MPI_IMPLS,
    command,
    find_mpi_impl,
)

#: UCX 1.13.1 (Debian 12) and 1.20.1 (of MPICH 5.0.2), Open MPI 4.1.4, Intel MPI 2021.18.
UCX_13 = (
    "[1795360703.786161] [c2:14114:0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[0]:"
    " tag(tcp/eth0) rma_am(tcp/eth0) am(tcp/eth0)"
)
UCX_13_SELF = (
    "[1795360703.786809] [c2:14114:0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[1]:"
    " tag(self/memory0 cma/memory) rma(self/memory0 sysv/memory posix/memory)"
)
UCX_20 = (
    "[1795360695.222766] [c2:13673:0]      ucp_worker.c:1912 UCX  INFO    ucp_context_0"
    " inter-node cfg#1 tag(tcp/eth0)  rma_am(tcp/eth0)  am(tcp/eth0)"
)
UCX_20_SELF = (
    "[1795360695.199368] [c2:13673:0]      ucp_worker.c:1912 UCX  INFO    ucp_context_0"
    " self cfg#0 tag(self/memory cma/memory)  rma(self/memory)  am(self/memory cma/memory)"
)
UCX_ASKED = (
    "[1795360695.197687] [c2:13673:0]          parser.c:2364 UCX  INFO  UCX_* env variables:"
    " UCX_LOG_FILE=stderr UCX_TLS=tcp,self,sm UCX_NET_DEVICES=eth0"
)
BML = "[c1:16212] mca: bml: Using tcp btl for send to [[33863,1],1] on node c2"
BML_SELF = "[c1:16212] mca: bml: Using self btl for send to [[33863,1],0] on node c1"
BTL_TRIED = "[c1:16212] select: init of component vader returned failure"
INTEL = "[0] MPI startup(): libfabric provider: tcp"
INTEL_VERSION = "[0] MPI startup(): libfabric version: 2.4.0-impi"


@pytest.mark.parametrize(
    ("kind", "line", "ways"),
    [
        ("mpich", UCX_13, ("tcp/eth0",)),
        ("mpich", UCX_20, ("tcp/eth0",)),
        ("mpich", UCX_20.replace("tag(tcp/eth0)", "tag(rc_mlx5/mlx5_0:1 tcp/ib0)"),
         ("rc_mlx5/mlx5_0:1", "tcp/ib0")),
        ("mpich", UCX_13_SELF, ()),
        ("mpich", UCX_20_SELF, ()),
        ("mpich", UCX_ASKED, ()),
        ("openmpi", BML, ("btl tcp",)),
        ("openmpi", UCX_20, ("tcp/eth0",)),
        ("openmpi", BML_SELF, ()),
        ("openmpi", BTL_TRIED, ()),
        ("intelmpi", INTEL, ("libfabric tcp",)),
        ("intelmpi", INTEL_VERSION, ()),
    ],
)  # fmt: skip
def test_the_way_is_what_was_used_not_what_was_tried(
    kind: str, line: str, ways: tuple[str, ...]
) -> None:
    mpi_impl = find_mpi_impl(kind)
    assert mpi_impl is not None
    assert mpi_impl.parse_transports(line) == ways


def test_long_lines_cost_little() -> None:
    for kind in MPI_IMPLS:
        mpi_impl = find_mpi_impl(kind)
        assert mpi_impl is not None
        assert mpi_impl.parse_transports(" UCX  INFO ep_cfg[0]: tag(" * 200_000) == ()


def test_a_variable_that_somebody_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "UCX_LOG_LEVEL", "warn")
    assert not any("UCX_LOG_LEVEL" in word for word in built("mpich", "lab", "free").argv)


def test_thousands_of_ranks_are_not_asked() -> None:
    engine = Engine(Path("/e"), MPIS["mpich"], "id", (), "g++")
    many = PlannedLaunch(1, None, None, ("c1",) * (MOST_VERBOSE_RANKS + 1), ())
    assert "env" not in command(engine, many, REACHES["lab"], ()).argv


def test_ucx_is_asked_for_its_protocols_where_buffers_lie_on_a_gpu() -> None:
    engine = Engine(Path("/e"), MPIS["mpich"], "id", (), "g++")
    pair = PlannedLaunch(1, None, None, ("c1", "c2"), ())
    on_gpu = command(engine, pair, REACHES["lab"], ("--memory", "cuda,host")).argv
    assert "UCX_PROTO_INFO=y" in on_gpu
    assert "UCX_PROTO_INFO=y" not in command(engine, pair, REACHES["lab"], ()).argv
