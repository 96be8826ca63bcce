"""Verbs without MPI between two virtual machines with RDMA in software: path, data, errors."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import Checked, fabricgauge
from tests.rdma_guests import counted

from fabricgauge.lab.state import LabState
from fabricgauge.nodes.engines.build import VERBS_HEADER, source_folder

pytestmark = [
    pytest.mark.lab,
    pytest.mark.engine,
    pytest.mark.skipif(not VERBS_HEADER.exists(), reason="libibverbs-dev is not installed"),
]

#: All that verbs can do, a small and a larger message of each.
EVERY = (
    "latency,bandwidth,bidirectional_bandwidth,ping_ping,put_latency,put_bandwidth,get_latency,"
    "get_bandwidth,fetch_and_op_latency,compare_and_swap_latency"
)


def records(checked: Checked, kind: str) -> list[dict[str, object]]:
    lines = (checked.path / "results.jsonl").read_text().splitlines()
    every = [json.loads(line)["record"] for line in lines]
    return [one for one in every if one["record"] == kind]


@pytest.mark.slow
def test_every_operation_of_verbs_is_measured_and_passes_by_path_and_data(
    roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    before = counted(roce_lab, "c1")
    checked = check(
        "--lab", roce_lab.name, "--network", "roce", "--transport", "verbs", "--check-data",
        "--launches", "1", "--case-budget", "0.2", "--patterns", EVERY, "--sizes", "8,64K",
    )  # fmt: skip
    assert checked.status == 0, checked.text
    assert checked.outcomes("path") == {"PASS"}
    assert "of the bytes crossed roce" in checked.words("path")
    assert checked.outcomes("data") == {"PASS"}
    assert checked.outcomes("fraction") == {"SKIPPED"}
    cases = records(checked, "case")
    assert {one["pattern"] for one in cases} == set(EVERY.split(","))
    assert {one["status"] for one in cases} == {"ok"}
    told = json.loads((checked.path / "transports.json").read_text())
    assert told == {"roce": "verbs RC by rxe0:1 (GID 1), path MTU 4096 B"}
    for node in ("c1", "c2"):
        after = counted(roce_lab, node)
        assert after["send_rnr_err"] == after["rcvd_rnr_err"] == 0
    sent = sum(one["payload_sent_bytes"][0] for one in cases)  # type: ignore[index]
    assert counted(roce_lab, "c1")["sent_pkts"] - before["sent_pkts"] > 0.95 * sent / 4096


@pytest.mark.slow
def test_what_a_launch_over_verbs_is_told_is_what_it_does(
    roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    asked = "verbs:path-mtu=1024,inline=0,signal-interval=1,gid-index=1,traffic-class=106"
    checked = check(
        "--lab", roce_lab.name, "--network", "roce", "--transport", asked, "--launches", "1",
        "--case-budget", "0.2", "--patterns", "latency", "--sizes", "64K",
    )  # fmt: skip
    (header,) = records(checked, "header")
    used = header["transport"]
    assert isinstance(used, dict)
    assert (used["path_mtu_bytes"], used["inline_bytes"], used["signal_interval"]) == (1024, 0, 1)
    assert used["traffic_class"] == 106
    assert [(one["device"], one["gid"]) for one in used["ports"]] == [
        ("rxe0", "::ffff:10.77.0.11"), ("rxe0", "::ffff:10.77.0.12"),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uc", "ud"])
def test_messages_go_by_unreliable_kinds_as_well(
    kind: str, roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    checked = check(
        "--lab", roce_lab.name, "--network", "roce", "--transport", f"verbs:queue-pair={kind}",
        "--check-data", "--launches", "1", "--case-budget", "0.2",
        "--patterns", "latency,put_latency", "--sizes", "8",
    )  # fmt: skip
    messages, writes = records(checked, "case")
    assert (messages["status"], writes["status"]) == ("ok", "skipped"), checked.text
    assert "one-sided operations need rc" in str(writes["reason"])
    assert checked.outcomes("data") == {"PASS"}


@pytest.mark.slow
def test_a_window_goes_by_many_queue_pairs_and_their_making_is_told(
    roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    checked = check(
        "--lab", roce_lab.name, "--network", "roce", "--transport", "verbs:queue-pairs=64",
        "--check-data", "--launches", "1", "--case-budget", "5",
        "--patterns", "bandwidth,get_bandwidth", "--sizes", "64",
    )  # fmt: skip
    assert checked.outcomes("data") == {"PASS"}, checked.text
    for case in records(checked, "case"):
        made = case["connections"]
        assert isinstance(made, list)
        assert [(one["rank"], one["queue_pairs"]) for one in made] == [(0, 64), (1, 64)]
        assert all(one["create_s"] > 0 and one["register_s"] > 0 for one in made)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "patterns", "checks"),
    [
        ("messages-by=write-imm", "latency,bandwidth", ("--check-data",)),
        ("messages-by=write", "latency", ()),
        ("shared-receives=yes,queue-pairs=4,messages-by=write-imm", "bandwidth", ("--check-data",)),
    ],
)
def test_messages_are_writes_where_that_is_asked_for(
    asked: str, patterns: str, checks: tuple[str, ...],
    roce_lab: LabState, check: Callable[..., Checked],
) -> None:  # fmt: skip
    before = counted(roce_lab, "c2")
    checked = check(
        "--lab", roce_lab.name, "--network", "roce", "--transport", f"verbs:{asked}", *checks,
        "--launches", "1", "--case-budget", "0.2", "--patterns", patterns, "--sizes", "8,64K",
    )  # fmt: skip
    assert {one["status"] for one in records(checked, "case")} == {"ok"}, checked.text
    # Without --check-data the first sample of each case is compared.
    assert checked.outcomes("data") == {"PASS"}
    (header,) = records(checked, "header")
    assert isinstance(header["transport"], dict)
    assert f"messages-by={header['transport']['messages_by']}" in asked
    # rxe counts a message where a receive is used up.
    received = counted(roce_lab, "c2")["rdma_recvs"] - before["rdma_recvs"]
    assert (received == 0) == (asked == "messages-by=write")


@pytest.mark.slow
def test_registering_memory_is_told_by_size(
    roce_lab: LabState, check: Callable[..., Checked]
) -> None:
    sizes = (4096, 1 << 20, 16 << 20)
    checked = check(
        "--lab", roce_lab.name, "--network", "roce", "--transport", "verbs", "--launches", "1",
        "--case-budget", "0.1", "--patterns", "put_latency", "--sizes", ",".join(map(str, sizes)),
    )  # fmt: skip
    made = [one for case in records(checked, "case") for one in case["connections"]]  # type: ignore[attr-defined]
    at_target = [one for one in made if one["rank"] == 1]
    assert [one["registered_bytes"] for one in at_target] == list(sizes), checked.text
    for one in at_target:
        least, most = one["register_bounds_s"]
        assert 0 < least <= one["register_s"] <= most
    assert at_target[0]["registrations"] == 9


@pytest.mark.slow
def test_path_mtus_and_inline_limits_are_swept_by_one_command(
    roce_lab: LabState, tmp_path: Path
) -> None:
    mtus = ",".join(f"verbs:path-mtu={mtu}\\,inline=64" for mtu in (256, 1024, 4096))
    done = fabricgauge(
        "compare", "--lab", roce_lab.name, "--network", "roce", "-o", str(tmp_path),
        "--vary", f"transport={mtus}", "--patterns", "latency", "--sizes", "64,64K",
        "--case-budget", "0.05", "--launches", "2", "--format", "json",
    )  # fmt: skip
    assert json.loads(done.stdout)["varied"]["finding"] == "undecided", done.stderr
    used = {
        json.loads(one.read_text())["roce"] for one in tmp_path.rglob("transports.json")
    }  # fmt: skip
    assert {one.split("path MTU ")[1].split()[0] for one in used} == {"256", "1024", "4096"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "patterns", "size", "rule", "told"),
    [
        ("corrupted:3", "latency", "4096", "data", "offset 1000"),
        ("wrong-key:3", "put_latency", "4096", "completeness",
         "verbs: the RDMA write to rank 1 by rxe0:1 failed: remote access error"),
        ("no-receive:3", "latency", "4096", "completeness",
         "by rxe0:1 failed: RNR retry counter exceeded"),
    ],
)  # fmt: skip
def test_planted_faults_are_named_and_nothing_hangs(
    planted: str, patterns: str, size: str, rule: str, told: str,
    roce_lab: LabState, tmp_path: Path,
) -> None:  # fmt: skip
    library, source = tmp_path / "faulty_verbs.so", source_folder() / "tests" / "faulty_verbs.c"
    built = ["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run([*built, "-Wl,--no-as-needed", "-libverbs", "-ldl"], check=True)
    ran = fabricgauge(
        "check", "-o", str(tmp_path), "--lab", roce_lab.name, "--network", "roce",
        "--transport", "verbs", "--check-data", "--launches", "1", "--case-budget", "0.2",
        "--patterns", patterns, "--sizes", size,
        timeout_s=120, LD_PRELOAD=str(library), IBV_PLANTED_FAULT=planted,
    )  # fmt: skip
    checked = Checked(ran, tmp_path)
    assert ran.returncode == (1 if rule == "data" else 3), checked.text
    assert told in checked.words(rule), checked.text
