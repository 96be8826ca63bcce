"""Other suites' programs on the lab, with placement and path proof around them."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import Checked, fabricgauge, until

pytestmark = [pytest.mark.lab]

#: Intel MPI's run-time with IMB has its own environment: it shares file names with MPICH.
INTEL = Path(os.environ.get("FABRICGAUGE_TEST_IMPI", Path(__file__).parents[2] / ".venv-impi"))

FIXTURE = Path(__file__).parents[1] / "fixtures" / "perftest" / "4.5--send-lat-inf-rows.out"


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@pytest.mark.alone
def test_iperf3_is_proved_and_judged_in_both_directions(check: Callable[..., Checked]) -> None:
    needs("iperf3")
    checked = check("--lab", "--tool", "iperf3", "--parallel", "3")
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert "FAIL" not in {verdict["outcome"] for verdict in checked.verdicts}
    words = checked.words("fraction")
    assert "c1 → c2" in words
    assert "c2 → c1" in words
    report = json.loads((checked.path / "report.json").read_text())
    told = [one["what"] for la in report["run"]["launches"] for one in la["curves"]]
    assert any("mean per connection" in what for what in told), told


@pytest.mark.slow
@pytest.mark.alone
def test_iperf3_on_a_slow_link_never_passes_it(
    lab: Callable[..., str], check: Callable[..., Checked], fault: Callable[..., None]
) -> None:
    needs("iperf3")
    name = lab()
    fault(name, "rate", "c2", "net1", "100M")
    checked = check("--lab", name, "--tool", "iperf3")
    assert checked.status in (1, 3), checked.text
    fraction = [one for one in checked.verdicts if one["rule"] == "fraction"]
    assert {one["outcome"] for one in fraction} <= {"FAIL", "INCONCLUSIVE"}
    assert max(one["figure"]["value"] for one in fraction) < 0.11


@pytest.mark.slow
def test_netpipe_s_ping_pong_is_read_and_proved(check: Callable[..., Checked]) -> None:
    needs("NPtcp")
    checked = check("--lab", "--tool", "netpipe")
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert checked.outcomes("floor") == {"PASS"}
    assert checked.outcomes("above-ceiling") == {"PASS"}


@pytest.mark.slow
def test_the_guide_s_ping_pong_with_intel_mpi_crosses_the_network(
    check: Callable[..., Checked],
) -> None:
    if not (INTEL / "bin" / "IMB-P2P").exists():
        pytest.skip(f"{INTEL} has no IMB-P2P; make install-test installs it")
    checked = check("--lab", "--tool", "imb", "--tool-path", str(INTEL))
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert checked.outcomes("floor") == {"PASS"}
    environment = json.loads((checked.path / "run.json").read_text())["environment"]
    assert environment["MPI"].startswith("intelmpi 2021")


@pytest.mark.slow
def test_both_ends_on_one_node_are_invalid(check: Callable[..., Checked]) -> None:
    needs("iperf3")
    checked = check("--lab", "--tool", "iperf3", "--place", "c1,c1")
    assert checked.status == 3, checked.text
    assert checked.outcomes("placement") == {"INVALID"}


def test_a_program_that_breaks_off_is_told_with_its_own_words(
    check: Callable[..., Checked], tmp_path: Path
) -> None:
    broken = tmp_path / "tools" / "iperf3"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'iperf3: error - <b>no luck</b>' >&2\nexit 1\n")
    broken.chmod(0o755)
    checked = check("--lab", "--tool", "iperf3", "--tool-path", str(broken.parent))
    assert checked.status == 3, checked.text
    assert "no luck" in checked.prose
    assert checked.path.name.endswith(".partial")


@pytest.mark.slow
def test_a_cable_pulled_while_iperf3_streams_is_named_and_the_rest_resumed(
    lab: Callable[..., str], start: Callable[..., object], fault: Callable[..., None],
    tmp_path: Path,
) -> None:  # fmt: skip
    needs("iperf3")
    name = lab()
    child = start("--lab", name, "--tool", "iperf3", "-q")
    until(lambda: any(tmp_path.glob("*.partial/raw/launch-02*")), 60, "the second start")
    time.sleep(1.0)
    fault(name, "link-down", "c2", "net1")
    child.communicate(timeout=240)  # type: ignore[attr-defined]
    run = next(tmp_path.glob("*.partial"))
    kept = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert any(one["launch"] == 1 and one["record"]["record"] == "suite_curve" for one in kept)
    assert "lost its carrier" in (run / "launches.jsonl").read_text()
    healed = fabricgauge("lab", "heal", "--name", name, "c2", "net1")
    if healed.returncode:
        healed = fabricgauge("lab", "fault", "--name", name, "link-up", "c2", "net1")
    assert healed.returncode == 0, healed.stderr
    words = ("--lab", name, "--tool", "iperf3", "--resume", str(run))
    again = Checked(fabricgauge("check", *words), tmp_path)
    assert not again.path.name.endswith(".partial"), again.text


#: A server that takes a connection, and a client that prints a recorded table and ends well.
_INF_ROWS = f"""#!{sys.executable}
import pathlib, socket, sys
if sys.argv[-1].startswith("10."):
    print(pathlib.Path({str(FIXTURE)!r}).read_text())
    print("Correlation coefficient r^2: 0.664213 < 0.9", file=sys.stderr)
else:
    socket.create_server(("", int(sys.argv[-1]))).accept()
"""


@pytest.mark.slow
def test_rows_of_inf_are_refused_though_perftest_ends_well(
    check: Callable[..., Checked], tmp_path: Path
) -> None:
    planted = tmp_path / "tools" / "ib_send_lat"
    planted.parent.mkdir()
    planted.write_text(_INF_ROWS)
    planted.chmod(0o755)
    checked = check("--lab", "--tool", "perftest", "--tool-path", str(planted.parent))
    assert checked.status == 3, checked.text
    told = checked.words("completeness")
    assert "2 rows of ib_send_lat without a figure, such as: 128 5 inf inf inf" in told
    assert "perftest could not calibrate its clock" in told


@pytest.mark.slow
def test_perftest_without_a_device_ends_in_its_own_words(check: Callable[..., Checked]) -> None:
    needs("ib_send_bw")
    checked = check("--lab", "--tool", "perftest")
    assert checked.status == 3, checked.text
    assert "did not begin to listen; it said:" in checked.prose


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("--tool", "papyrus"), 2, "papyrus"),
        (("--tool", "nccl-tests"), 3, "nccl-tests"),
        (("--tool", "iperf3:inline=8"), 2, "has no key inline; it has no keys"),
        (("--tool", "perftest:signal-interval=8"), 2, "it has queue-pair, path-mtu, gid-index"),
        (("--tool", "perftest:queue-pair=dc"), 2, "use xrc"),
        (("--tool", "perftest:queue-pair=srd"), 2, "expected one of rc, uc, ud, xrc"),
    ],
)
def test_a_suite_that_cannot_be_run_is_named(
    words: tuple[str, ...], status: int, told: str
) -> None:
    done = fabricgauge("check", "--lab", *words)
    assert done.returncode == status
    assert told in done.stderr


def test_a_dry_run_shows_server_and_client(lab: Callable[..., str], tmp_path: Path) -> None:
    needs("iperf3")
    name = lab()
    done = fabricgauge("check", "--lab", name, "--tool", "iperf3", "--dry-run", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "-s -1 -B 10." in done.stdout
    assert not list(tmp_path.glob("2*"))
