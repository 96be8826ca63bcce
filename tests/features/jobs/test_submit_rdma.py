"""A job of a real Slurm over RDMA ports without IPv4: two virtual machines, and a head."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.check.commands import Checked
from tests.features.jobs.slurm_lab import on_head
from tests.lab.conftest import on
from tests.rdma_guests import counted, skip_without

from fabricgauge.features.slurm_lab import cluster
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.state import LabState
from fabricgauge.lab.up import down, up
from fabricgauge.model.errors import FabricgaugeError

MPICH = Path("/usr/bin/mpicxx.mpich")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(not MPICH.exists(), reason="Debian's MPICH is not installed"),
]

FEW = ("--profile", "quick", "--patterns", "latency,bandwidth", "--sizes", "8,64K")
OVER_PORTS = ("--carry", "--network", "roce-v2", "--mpi", str(MPICH))


@pytest.fixture(scope="module")
def rdma_slurm() -> Iterator[LabState]:
    skip_without("roce")
    try:
        cluster.require(("c1", "c2"))
    except FabricgaugeError as reason:
        pytest.skip(str(reason))
    name = f"t-rdma-slurm-{os.getpid()}"
    networks = (NetworkSpec("net1", 1e9, 4200),)
    try:
        yield up(LabSpec(name, networks=networks, slurm=True, rdma="roce"))
    finally:
        down(name)


def test_slurm_runs_on_virtual_machines_whose_ports_have_no_ipv4(rdma_slurm: LabState) -> None:
    assert sorted(on(rdma_slurm, "head", "srun", "-N2", "uname", "-n").split()) == ["c1", "c2"]
    reach_itself = (
        "import socket; "
        "there = socket.create_server(('fd77:0:0:1::11', 0), family=socket.AF_INET6); "
        "print(socket.create_connection(there.getsockname()[:2], 20).getpeername()[0])"
    )
    assert on(rdma_slurm, "c1", sys.executable, "-c", reach_itself).strip() == "fd77:0:0:1::11"
    for node in ("c1", "c2"):
        assert on(rdma_slurm, node, "ip", "-4", "-o", "addr", "show", "eth1") == ""
        assert "fd77:" in on(rdma_slurm, node, "ip", "-6", "-o", "addr", "show", "eth1")
        assert "ACTIVE" in on(rdma_slurm, node, "rdma", "link", "show", "rxe1/1")


def test_job_measures_ports_and_the_devices_counted_its_packets(
    rdma_slurm: LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCX_UD_VERBS_ETH_DGID_CHECK", "n")
    before = counted(rdma_slurm, "c1", "rxe1")["sent_pkts"]
    submitted = on_head(
        rdma_slurm, "submit", "--no-wait", "-o", str(tmp_path), *OVER_PORTS, *FEW
    )  # fmt: skip
    assert submitted.returncode == 0, submitted.stderr
    (run,) = tmp_path.glob("2*")
    checked = Checked(on_head(rdma_slurm, "collect", str(run), timeout_s=1200), tmp_path)
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert checked.outcomes("completeness") == {"PASS"}, checked.text
    assert checked.status == 0, checked.text
    transports = json.loads((checked.path / "transports.json").read_text())
    assert transports["roce"] == "rc_verbs/rxe1:1"
    lines = (checked.path / "results.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    cases = [
        one["record"] for one in records
        if one["record"]["record"] == "case" and one["launch"] == 1
    ]  # fmt: skip
    assert {one["status"] for one in cases} == {"ok"}
    payload = sum(one["payload_sent_bytes"][0] for one in cases)
    assert counted(rdma_slurm, "c1", "rxe1")["sent_pkts"] - before > 0.95 * payload / 4096


def test_submit_without_carry_is_refused_where_nodes_cannot_write_to_the_run(
    rdma_slurm: LabState, tmp_path: Path
) -> None:
    refused = on_head(rdma_slurm, "submit", "-o", str(tmp_path), *FEW)
    assert (refused.returncode, "add --carry" in " ".join(refused.stderr.split())) == (2, True)
    assert not list(tmp_path.glob("2*"))
