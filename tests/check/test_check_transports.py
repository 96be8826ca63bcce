"""TCP sockets and libfabric instead of MPI over a lab: path, data, what is told or refused."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, Checked

from fabricgauge.nodes.engines.build import OFI_HEADER, source_folder

pytestmark = [pytest.mark.lab, pytest.mark.engine]
has_ofi = pytest.mark.skipif(not OFI_HEADER.exists(), reason="libfabric-dev is not installed")

MESSAGES = "latency,bandwidth,bidirectional_bandwidth,ping_ping"
MEMORY = "put_bandwidth,get_bandwidth,fetch_and_op_latency,compare_and_swap_latency"
BRIEF = ("--launches", "1", "--case-budget", "0.2", "--sizes", "8,64K")


def cases(checked: Checked) -> list[dict[str, object]]:
    lines = (checked.path / "results.jsonl").read_text().splitlines()
    every = [json.loads(line)["record"] for line in lines]
    return [one for one in every if one["record"] == "case"]


def by(checked: Checked) -> dict[str, str]:
    told: dict[str, str] = json.loads((checked.path / "transports.json").read_text())
    return told


@has_ofi
@pytest.mark.parametrize(
    ("transport", "patterns", "told"),
    [
        ("ofi:provider=tcp;ofi_rxm", f"{MESSAGES},{MEMORY}", "provider tcp;ofi_rxm by eth0"),
        pytest.param(
            "sockets", MESSAGES, "TCP sockets between 10.77.0.11 and 10.77.0.12",
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_the_data_go_over_the_network_that_is_meant(
    transport: str, patterns: str, told: str, lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check(
        "--lab", lab("--network", "net1:1G"), "--transport", transport, "--patterns", patterns,
        "--check-data", *BRIEF,
    )  # fmt: skip
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert checked.outcomes("data") == {"PASS"}
    measured = cases(checked)
    assert {one["pattern"] for one in measured} == set(patterns.split(","))
    assert {one["status"] for one in measured} == {"ok"}
    assert told in by(checked)["net1"]


@has_ofi
@pytest.mark.slow
@pytest.mark.parametrize("transport", ["sockets", "ofi:provider=tcp", "ofi:provider=tcp;ofi_rxm"])
def test_a_corrupted_byte_is_found(transport: str, lab: Callable[..., str], tmp_path: Path) -> None:
    planted, source = tmp_path / "corrupting.so", source_folder() / "tests" / "corrupting.c"
    # Otherwise libfabric reads headers and data in one piece, and a header may be what is changed.
    apart = {"FI_TCP_PREFETCH_RBUF_SIZE": "0"}
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(planted), str(source), "-ldl"], check=True)
    ran = subprocess.run(
        [str(PROGRAM), "check", "-o", str(tmp_path), "--lab", lab("--network", "net1:1G"),
         "--transport", transport, "--patterns", "bandwidth", "--sizes", "64K", "--check-data",
         "--launches", "1", "--case-budget", "0.2"],
        capture_output=True, text=True, check=False,
        env=os.environ | apart | {"LD_PRELOAD": str(planted)},
    )  # fmt: skip
    checked = Checked(ran, tmp_path)
    assert checked.outcomes("data") == {"FAIL"}, checked.text
    assert "received bytes differ from those sent in a message of 64 KiB" in checked.words("data")


@has_ofi
@pytest.mark.slow
def test_a_provider_that_is_not_there_is_named_with_the_documented_status(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check(
        "--lab", lab("--network", "net1:1G"), "--transport", "ofi:provider=nosuch", *BRIEF,
        "--patterns", "latency",
    )  # fmt: skip
    assert checked.status != 0
    assert "has no provider nosuch at eth0 on this node" in checked.prose
