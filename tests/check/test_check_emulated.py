"""The main job between two virtual machines: the path is proved, speed is not judged."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import Checked
from tests.rdma_guests import counted

from fabricgauge.lab.state import LabState

pytestmark = [pytest.mark.lab, pytest.mark.engine]

FEW = ("--profile", "quick", "--patterns", "latency,bandwidth", "--sizes", "8,64K")
MPICH = Path("/usr/bin/mpicxx.mpich")


@pytest.mark.slow
def test_emulated_nodes_pass_by_their_path_alone(
    roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    checked = check("--lab", roce_lab.name, "--check-data", *FEW)
    assert checked.status == 0, checked.text
    assert checked.outcomes("path") == {"PASS"}
    assert checked.outcomes("data") == {"PASS"}
    assert checked.outcomes("fraction") == {"SKIPPED"}
    assert "emulated: not judged" in checked.words("fraction")
    assert checked.text.count("Emulated: QEMU") == 1
    report = json.loads((checked.path / "report.json").read_text())
    assert report["emulated"] is True


@pytest.mark.skipif(not MPICH.exists(), reason="Debian's MPICH is not installed")
@pytest.mark.parametrize("transport", ["rc", pytest.param("ud", marks=pytest.mark.slow)])
def test_mpi_over_verbs_is_named_and_the_device_counts_it(
    transport: str,
    roce_lab: LabState,
    check: Callable[..., Checked],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "UCX_TLS": f"{transport},self", "UCX_NET_DEVICES": "rxe0:1", "UCX_IB_GID_INDEX": "1",
        "UCX_UD_VERBS_ETH_DGID_CHECK": "n",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    before = counted(roce_lab, "c1")["sent_pkts"]
    checked = check("--lab", roce_lab.name, "--mpi", str(MPICH), "--unpinned", *FEW)
    told = json.loads((checked.path / "transports.json").read_text())
    assert told == {"its own choice": f"{transport}_verbs/rxe0:1"}
    lines = (checked.path / "results.jsonl").read_text().splitlines()
    records = [json.loads(line)["record"] for line in lines]
    cases = [one for one in records if one["record"] == "case"]
    assert {one["status"] for one in cases} == {"ok"}
    payload = sum(one["payload_sent_bytes"][0] for one in cases)
    # A packet of RDMA carries 4096 bytes at most at this MTU (InfiniBand Architecture 9.4).
    assert counted(roce_lab, "c1")["sent_pkts"] - before > 0.95 * payload / 4096


@pytest.mark.slow
@pytest.mark.skipif(not MPICH.exists(), reason="Debian's MPICH is not installed")
def test_tcp_instead_of_the_ports_is_invalid_and_named(
    roce_lab: LabState, check: Callable[..., Checked], tmp_path: Path
) -> None:
    """A site's wrapper around the launcher overrides what the launch asks UCX for."""
    folder = tmp_path / "site"
    folder.mkdir()
    forced = "UCX_TLS=tcp,self UCX_NET_DEVICES=eth0"
    for name, text in {
        "mpicxx": f'exec {MPICH} "$@"',
        "mpiexec": f'{forced} exec /usr/bin/mpiexec.mpich "$@"',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    checked = check(
        "--lab", roce_lab.name, "--mpi", str(folder / "mpicxx"), "--network", "roce",
        "--launches", "1", *FEW,
    )  # fmt: skip
    assert checked.status == 3, checked.text
    assert checked.outcomes("path") == {"INVALID"}
    told = "the bytes that c1 sent crossed eth0, not rxe0:1; MPI reports tcp/eth0 as the transport"
    assert told in checked.words("path")


@pytest.mark.slow
@pytest.mark.skipif(not MPICH.exists(), reason="Debian's MPICH is not installed")
def test_a_check_on_rdma_ports_passes_by_its_path(
    roce_lab: LabState, check: Callable[..., Checked], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"UCX_IB_GID_INDEX": "1", "UCX_UD_VERBS_ETH_DGID_CHECK": "n"}.items():
        monkeypatch.setenv(name, value)
    checked = check(
        "--lab", roce_lab.name, "--mpi", str(MPICH), "--network", "roce", "--launches", "1", *FEW
    )
    assert checked.status == 0, checked.text
    assert checked.outcomes("path") == {"PASS"}
    assert "of the bytes crossed roce" in checked.words("path")
    told = json.loads((checked.path / "transports.json").read_text())
    assert told["roce"].startswith("rc_verbs/rxe0:1")
