"""The main job over real namespaces, real TCP and a real MPI.

Machines that run tests are busy, so these assert what load cannot change: what was proved and
named, and on which side of a limit a figure is. The verdicts of a quiet machine are those of
the stored runs, see test_stored_runs.py.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, SHORT, Checked, fabricgauge

from fabricgauge.model.pattern import BUFFER_WORDS
from fabricgauge.store.run_directory import find
from fabricgauge.store.run_files import load

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.alone]


def test_a_healthy_lab_never_fails_and_its_path_is_proved(check: Callable[..., Checked]) -> None:
    checked = check("--lab", *SHORT)
    assert checked.status in (0, 3), checked.text
    assert checked.outcomes("placement") == {"PASS"}
    assert checked.outcomes("path") == {"PASS"}
    assert not {"FAIL", "INVALID"} & {verdict["outcome"] for verdict in checked.verdicts}
    assert not checked.path.name.endswith(".partial")
    report = json.loads((checked.path / "report.json").read_text())
    overall = {0: ("PASS", "WARN"), 3: ("INCONCLUSIVE",)}
    assert report["overall"] in overall[checked.status]
    ceiling = report["ceilings"]["net1"]["payload_bytes_per_s"]
    assert ceiling == pytest.approx(117.69e6, rel=1e-4)


def test_both_ranks_on_one_node_are_invalid_whatever_the_figures(
    check: Callable[..., Checked],
) -> None:
    checked = check("--lab", "--rank-order", "c1,c1", *SHORT)
    assert checked.status == 3, checked.text
    assert checked.outcomes("placement") == {"INVALID"}
    assert "c1" in checked.words("placement")


def test_an_unpinned_mpi_is_no_pass_of_either_network(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    name = lab("--network", "net1:1G", "--network", "net2:1G")
    checked = check("--lab", name, "--unpinned", *SHORT)
    assert checked.status in (0, 3), checked.text
    judged = {v["network"] for v in checked.verdicts if v["rule"] in ("path", "fraction")}
    assert judged == {"MPI's own choice"}
    striped = {"PASS"} if "at once" in checked.words("path") else {"INCONCLUSIVE"}
    assert checked.outcomes("path") == striped
    assert "net1" in checked.words("path")
    assert "net2" in checked.words("path")


def test_each_of_two_networks_is_proved_when_pinned(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    name = lab("--network", "net1:1G", "--network", "net2:1G")
    checked = check("--lab", name, *SHORT)
    path = {v["subject"]: v["outcome"] for v in checked.verdicts if v["rule"] == "path"}
    assert path == {"net1": "PASS", "net2": "PASS"}, checked.text


def test_a_link_at_a_tenth_of_its_rate_never_passes(
    lab: Callable[..., str], check: Callable[..., Checked], fault: Callable[..., None]
) -> None:
    name = lab()
    fault(name, "rate", "c2", "net1", "100M")
    checked = check("--lab", name, *SHORT)
    assert checked.status in (1, 3), checked.text
    fraction = [v for v in checked.verdicts if v["rule"] == "fraction"]
    assert {v["outcome"] for v in fraction} <= {"FAIL", "INCONCLUSIVE"}
    assert all(v["figure"] is None or v["figure"]["value"] < 0.11 for v in fraction)
    assert all(v["cause"] and v["remedy"] for v in fraction if v["outcome"] == "FAIL")


@pytest.mark.slow
def test_a_direction_at_half_its_rate_is_the_one_that_fails(
    lab: Callable[..., str], check: Callable[..., Checked], fault: Callable[..., None]
) -> None:
    name = lab()
    fault(name, "rate-out", "c2", "net1", "300M")
    checked = check("--lab", name, *SHORT)
    assert checked.status in (1, 3), checked.text
    fraction = {v["subject"]: v["outcome"] for v in checked.verdicts if v["rule"] == "fraction"}
    assert fraction["net1, c2 → c1"] in ("FAIL", "INCONCLUSIVE")
    assert fraction["net1, c1 → c2"] != "FAIL"
    assert "c2 → c1" in checked.words("asymmetry")


def test_the_ceiling_follows_a_large_mtu(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check("--lab", lab("--network", "net1:1G:9000"), *SHORT)
    report = json.loads((checked.path / "report.json").read_text())
    # 9000 - 20 - 20 - 12 bytes of payload in 9000 + 38 bytes on the wire
    assert report["ceilings"]["net1"]["payload_bytes_per_s"] == pytest.approx(125e6 * 8948 / 9038)
    assert checked.outcomes("mtu") == {"PASS"}


def test_one_end_with_a_smaller_mtu_is_named(
    lab: Callable[..., str], check: Callable[..., Checked], fault: Callable[..., None]
) -> None:
    name = lab("--network", "net1:1G:9000")
    fault(name, "mtu", "c2", "net1", "1500")
    checked = check("--lab", name, *SHORT)
    assert checked.outcomes("mtu") == {"FAIL"}, checked.text
    assert "c2:eth0" in checked.words("mtu")
    assert checked.status == 1


@pytest.mark.slow
def test_a_network_faster_than_the_host_is_not_blamed(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check("--lab", lab("--network", "fast:100G"), *SHORT)
    assert checked.status == 3, checked.text
    assert checked.outcomes("host-limited") == {"INCONCLUSIVE"}
    assert "FAIL" not in checked.outcomes("fraction")


def test_of_more_than_two_nodes_none_is_quietly_ignored(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check("--lab", lab("--nodes", "3"), "--patterns", "all_pairs_latency")
    assert checked.outcomes("coverage") == {"PASS"}, checked.text
    assert "all 3 nodes" in checked.words("coverage")


def test_a_reader_that_goes_away_does_not_change_the_exit_status(
    check: Callable[..., Checked],
) -> None:
    run = check("--lab", "--place", "c1,c1", *SHORT).path
    gone = subprocess.Popen(
        [PROGRAM, "report", str(run)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert gone.stdout
    gone.stdout.close()
    gone.communicate(timeout=60)
    assert gone.returncode == 3


def test_data_is_verified_on_request_in_the_buffers_that_are_chosen(
    check: Callable[..., Checked],
) -> None:
    checked = check("--lab", "--check-data", "--buffers", "multiple", *SHORT)
    assert checked.outcomes("data") == {"PASS"}, checked.text
    assert BUFFER_WORDS["multiple"] in checked.prose
    for launch in load(find(checked.path.parent, str(checked.path))).launches:
        assert {case.buffers for case in launch.measurements} == {"multiple"}


def test_a_dry_run_prints_the_commands_and_leaves_nothing(tmp_path: Path) -> None:
    done = fabricgauge("check", "--lab", "--dry-run", "-o", str(tmp_path), *SHORT)
    assert done.returncode == 0, done.stderr
    assert "--pin 10.77.0.0/24" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "mpicxx",
    [pytest.param("/usr/bin/mpicxx.mpich", marks=pytest.mark.slow), "/usr/bin/mpicxx.openmpi"],
)
def test_debians_mpis_are_pinned_and_proved_as_well(
    mpicxx: str, lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    if not Path(mpicxx).exists():
        pytest.skip(f"{mpicxx} is not installed")
    name = lab("--network", "net1:1G", "--network", "net2:1G")
    checked = check("--lab", name, "--network", "net2", "--mpi", mpicxx, *SHORT)
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert "FAIL" not in checked.outcomes("fraction")
