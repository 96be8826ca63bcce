"""Values of tc, ethtool and scontrol, where a node has them; they may hang or fail."""

import time
from pathlib import Path

import msgspec
import pytest
from tests.features.health.node import SHELLS, Node, build_node

from fabricgauge.features.health.expectations import read_expectations
from fabricgauge.features.health.script import ScriptSettings

EXPECTED = """
version = 1
[[class]]
nodes = "n1"
[class.net.eth0]
link = "up"
limit_bit_s = "none"
firmware = "16.32.1010 (HPE0000000009)"
"""
KNOWN = read_expectations(EXPECTED, "f")

#: ethtool -i of a mlx5 port, and some counters of ethtool -S.
INFO = "driver: mlx5_core\nversion: 6.1.0\nfirmware-version: {}\nbus-info: 0000:61:00.0"
STATISTICS = """NIC statistics:
     rx_packets: 12345678
     rx_prio3_pause: {pauses}
     rx_prio3_pause_duration: 99999999999
     tx_pause_ctrl_phy: 0
     rx_corrected_bits_phy: 99999999
     rx_fec_uncorrectable_blocks: {uncorrectable}
     [0]rx_odd name: 5"""


def install(node: Node, name: str, script: str) -> None:
    path = node.root / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def say(node: Node, firmware: str, pauses: int, uncorrectable: int) -> None:
    counters = STATISTICS.format(pauses=pauses, uncorrectable=uncorrectable)
    script = f"case $1 in -i) cat <<E\n{INFO.format(firmware)}\nE\n;;"
    install(node, "ethtool", f"{script} *) cat <<E\n{counters}\nE\n;; esac")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = build_node(tmp_path)
    say(node, "16.32.1010 (HPE0000000009)", 0, 0)
    install(node, "tc", 'echo "qdisc mq 0: root"')
    assert node.check(expectations=KNOWN).text.startswith("PASS")
    return node


def test_a_token_bucket_that_was_left_behind_is_a_failure(node: Node) -> None:
    bucket = "qdisc tbf 8001: root refcnt 2 rate 500Mbit burst 32Kb lat 41ms"
    install(node, "tc", f'echo "{bucket}"')
    status, text, _ = node.check(expectations=KNOWN)
    assert status == 1
    assert "eth0 at 500 Mb/s (limited by tc)" in text


def test_firmware_of_an_interface_differs(node: Node) -> None:
    say(node, "16.28.0000", 0, 0)
    assert "eth0 has firmware 16.28.0000, 16.32.1010" in node.check(expectations=KNOWN).text


@pytest.mark.parametrize(
    ("pauses", "uncorrectable", "words"),
    [
        (36_000, 0, "PASS"), (36_001, 0, "WARN: eth0 36001 pause frames in 1 h"),
        (0, 1, "WARN: eth0 1 uncorrectable errors"),
        (0, 101, "FAIL: eth0 101 uncorrectable errors in 1 h (limit 100)"),
    ],
)  # fmt: skip
def test_counters_of_the_driver(node: Node, pauses: int, uncorrectable: int, words: str) -> None:
    say(node, "16.32.1010 (HPE0000000009)", pauses, uncorrectable)
    assert node.check(expectations=KNOWN).text.startswith(words)


def test_tools_that_hang_or_fail_end_no_check(node: Node) -> None:
    install(node, "tc", "exec sleep 60")
    install(node, "ethtool", "exit 71")
    started = time.monotonic()
    assert node.check(expectations=KNOWN).text.startswith("PASS")
    assert time.monotonic() - started < 5


SCONTROL = """
echo "$@" >>{log}
case $* in *show*) echo "NodeName=n1 State={state} Reason={reason}" ;; esac
"""
DRAINING = ScriptSettings("slurm", drain=True)


def calls(node: Node) -> list[str]:
    log = node.root / "log"
    return log.read_text().splitlines() if log.exists() else []


def slurm(node: Node, state: str, reason: str = "") -> None:
    install(node, "scontrol", SCONTROL.format(log=node.root / "log", state=state, reason=reason))


def break_link(node: Node) -> None:
    node.net("carrier", 0)
    node.net("operstate", "down")


def mend_link(node: Node) -> None:
    node.net("carrier", 1)
    node.net("operstate", "up")


REASON = "eth0 link down (carrier 0, operstate down) [fabricgauge]"


def test_a_healthy_node_asks_the_controller_once_an_hour(node: Node) -> None:
    slurm(node, "IDLE")
    for uptime_s, asked in ((90_000, 1), (90_600, 1), (93_600, 2), (94_000, 2)):
        node.at(uptime_s)
        assert node.check(expectations=KNOWN, settings=DRAINING) == (0, "", "")
        assert calls(node) == ["-o show node n1"] * asked


@pytest.mark.parametrize("shell", SHELLS)
def test_a_node_without_a_place_for_its_state_is_drained_and_resumed(
    node: Node, shell: str
) -> None:
    node.state = node.root / "nowhere" / "state"
    slurm(node, "IDLE")
    break_link(node)
    drained = node.check(expectations=KNOWN, settings=DRAINING, shell=shell)
    assert (drained.status, drained.error) == (0, "")
    assert calls(node)[1] == f"update NodeName=n1 State=DRAIN Reason={REASON}"
    mend_link(node)
    for reason, resumes in (
        ("new disk", 0), ("eth0 500 link errors in 1 h (limit 100) [fabricgauge]", 0), (REASON, 1),
    ):  # fmt: skip
        slurm(node, "IDLE+DRAIN", reason)
        mended = node.check(expectations=KNOWN, settings=DRAINING, shell=shell)
        assert (mended.status, mended.error) == (0, "")
        assert "counters unknown" in mended.text
        assert calls(node).count("update NodeName=n1 State=RESUME") == resumes


def test_a_node_whose_state_was_lost_is_resumed_by_the_tag(node: Node) -> None:
    slurm(node, "IDLE+DRAIN", REASON)
    node.state.unlink()
    assert node.check(expectations=KNOWN, settings=DRAINING) == (0, "", "")
    assert calls(node)[-1] == "update NodeName=n1 State=RESUME"


def test_a_resumption_that_fails_is_tried_again(node: Node) -> None:
    slurm(node, "IDLE+DRAIN", REASON)
    scontrol = node.root / "bin/scontrol"
    scontrol.write_text(scontrol.read_text() + "case $* in *RESUME*) exit 1 ;; esac\n")
    for tried in (1, 2):
        node.check(expectations=KNOWN, settings=DRAINING)
        assert calls(node).count("update NodeName=n1 State=RESUME") == tried


def test_a_drained_node_may_register(node: Node) -> None:
    slurm(node, "IDLE")
    break_link(node)
    assert node.check(expectations=KNOWN, settings=DRAINING).status == 0
    assert calls(node)[1] == f"update NodeName=n1 State=DRAIN Reason={REASON}"


def test_a_broken_node_stays_out_if_no_controller_answers(node: Node) -> None:
    install(node, "scontrol", "exit 1")
    break_link(node)
    assert node.check(expectations=KNOWN, settings=DRAINING).status == 1


def test_a_reason_of_ours_is_renewed_and_one_of_others_stays(node: Node) -> None:
    break_link(node)
    slurm(node, "IDLE+DRAIN", REASON)
    node.check(expectations=KNOWN, settings=DRAINING)
    assert len(calls(node)) == 1
    slurm(node, "IDLE+DRAIN", "eth0 3 link flaps in 1 h [fabricgauge]")
    node.check(expectations=KNOWN, settings=DRAINING)
    assert len(calls(node)) == 3
    slurm(node, "IDLE+DRAIN", "new disk")
    node.check(expectations=KNOWN, settings=DRAINING)
    assert len(calls(node)) == 4


def test_only_a_node_that_the_script_drained_is_resumed(node: Node) -> None:
    slurm(node, "IDLE")
    break_link(node)
    node.check(expectations=KNOWN, settings=DRAINING)
    slurm(node, "IDLE+DRAIN", "new disk")
    mend_link(node)
    for _ in range(2):
        assert node.check(expectations=KNOWN, settings=DRAINING).status == 0
    assert not any("RESUME" in call for call in calls(node))
    assert len(calls(node)) == 3, "the controller is asked once more, and not again"


def test_a_name_that_means_many_nodes_is_not_handed_to_slurm(node: Node) -> None:
    slurm(node, "IDLE")
    node.write("proc/sys/kernel/hostname", "n[1-9]")
    node.check(expectations=KNOWN, settings=DRAINING)
    node.net("carrier_down_count", 9)
    strict = msgspec.structs.replace(KNOWN, limits={"flaps": (0, 2)})
    assert node.check(expectations=strict, settings=DRAINING).status == 1
    assert calls(node) == []


def test_undecided_neither_drains_nor_resumes(node: Node) -> None:
    slurm(node, "IDLE")
    break_link(node)
    node.check(expectations=KNOWN, settings=DRAINING)
    node.write("proc/sys/kernel/hostname", "other")
    asked = len(calls(node))
    assert node.check(expectations=KNOWN, settings=DRAINING).status == 0
    assert len(calls(node)) == asked


def test_a_port_whose_interface_has_a_carrier_is_disputed(node: Node) -> None:
    known = read_expectations(
        'version = 1\n[[class]]\nnodes = "n1"\n[class.port."mlx5_0:1"]\nlink = "up"', "f"
    )
    node.port("state", "1: DOWN")
    node.port("phys_state", "3: Disabled")
    assert node.check(expectations=known).status == 1
    node.port("gid_attrs/ndevs/0", "eth0")
    status, text, _ = node.check(expectations=known)
    assert (status, text[:4]) == (0, "WARN")
    assert "eth0 has a carrier" in text
