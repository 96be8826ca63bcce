"""Counters since the last check: rises are counted, restarts and damage raise no false alarm."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.features.health.node import BOOT, EXPECTED, QUICK_SHELLS, SNMP, Node, build_node

from fabricgauge.features.health.checks import LIMITS
from fabricgauge.features.health.expectations import read_expectations
from fabricgauge.features.health.script import ScriptSettings, write_script
from fabricgauge.model.words.port_counters import DRIVERS, CounterKind, kind_of, list_kind_words

START = 90_000
OTHER_BOOT = "99999999-2222-3333-4444-555555555555"


#: A site whose nodes fail if a link went down three times.
FLAPS_FAIL = read_expectations(
    EXPECTED.replace("version = 1", "version = 1\n[limits.flaps]\nfail = 2"), "health.toml"
)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node that was checked once."""
    node = build_node(tmp_path)
    assert node.check().status == 0
    return node


def test_the_first_check_takes_no_counter_for_a_rise(tmp_path: Path) -> None:
    node = build_node(tmp_path)
    node.net("carrier_down_count", 50)
    node.net("statistics/rx_errors", 10**9)
    assert node.check("--for", "slurm") == (0, "", "")


RISES = [
    ("net", "carrier_down_count", 1, 1, "WARN", "eth0 1 link flaps in 1 h (limit 0)"),
    ("net", "carrier_down_count", 1, 3, "WARN", "eth0 3 link flaps in 1 h (limit 0)"),
    ("net", "statistics/rx_errors", 5, 10, "PASS", ""),
    ("net", "statistics/rx_errors", 5, 11, "WARN", "eth0 11 link errors in 1 h (limit 10)"),
    ("net", "statistics/rx_errors", 5, 101, "FAIL", "eth0 101 link errors in 1 h (limit 100)"),
    ("net", "statistics/rx_dropped", 700, 3_601, "WARN", "eth0 3601 dropped frames"),
    ("net", "statistics/rx_dropped", 700, 10**8, "WARN", "dropped frames"),
    ("port", "counters/link_downed", 2, 90, "WARN", "mlx5_0:1 90 link flaps in 1 h"),
    # One error in 10^12 bits at 100 Gb/s is 360 in an hour.
    ("port", "counters/symbol_error", 0, 360, "WARN", "mlx5_0:1 360 link errors"),
    ("port", "counters/symbol_error", 0, 361, "FAIL", "361 link errors in 1 h (limit 360)"),
    ("port", "hw_counters/out_of_sequence", 11, 3_601, "WARN", "mlx5_0:1 3601 retransmissions"),
    # A program's own errors, and waiting for credits, are none of the link's.
    ("port", "hw_counters/req_remote_access_errors", 4, 10**6, "PASS", ""),
    ("port", "counters/port_xmit_wait", 123456, 10**9, "PASS", ""),
]


@pytest.mark.parametrize(("kind", "counter", "before", "rise", "outcome", "words"), RISES)
def test_a_rise_is_held_against_its_limit(
    node: Node, kind: str, counter: str, before: int, rise: int, outcome: str, words: str
) -> None:
    node.at(START + 600)
    (node.net if kind == "net" else node.port)(counter, before + rise)
    status, text, _ = node.check()
    assert (status, text.partition(":")[0]) == (int(outcome == "FAIL"), outcome)
    assert words in text
    node.at(START + 600 + 3_900)
    assert node.check().text.startswith("PASS"), "the window has passed"


def test_rises_of_several_checks_add_up_within_the_window(node: Node) -> None:
    outcomes = []
    for number in range(1, 4):
        node.at(START + 1000 * number)
        node.net("carrier_down_count", 1 + number)
        outcomes.append(node.check(expectations=FLAPS_FAIL).text.partition(":")[0])
    assert outcomes == ["WARN", "WARN", "FAIL"]
    node.at(START + 1000 + 4000)
    assert "2 link flaps" in node.check().text


def test_a_flap_is_half_a_change_of_the_carrier_on_old_kernels(node: Node) -> None:
    (node.root / "sys/class/net/eth0/carrier_down_count").unlink()
    node.net("carrier_changes", 3)
    node.check()
    node.net("carrier_changes", 9)
    assert "eth0 3 link flaps" in node.check().text


def test_tcp_that_sends_again_is_a_warning(node: Node) -> None:
    node.write("proc/net/snmp", SNMP.format(out=101_000, again=1_201))
    assert "TCP sent 1200 of 100000 segments again" in node.check().text
    node.write("proc/net/snmp", SNMP.format(out=10_000_000, again=1_202))
    assert node.check().text.startswith("PASS")


def test_a_site_changes_limits_and_severities(node: Node) -> None:
    known = read_expectations(
        EXPECTED.replace(
            "version = 1",
            'version = 1\n[severity]\nmtu = "fail"\n[limits.flaps]\nwarn = 4\nfail = "never"',
        ),
        "health.toml",
    )
    node.net("carrier_down_count", 5)
    assert node.check(expectations=known).text.startswith("PASS")
    node.net("carrier_down_count", 90)
    assert node.check(expectations=known).text.startswith("WARN")
    node.net("mtu", 1500)
    assert node.check(expectations=known).status == 1


def change(node: Node, factor: int) -> None:
    """Give all counters of both ports other values."""
    for name in ("carrier_down_count", "statistics/rx_errors", "statistics/rx_dropped"):
        node.net(name, 7 * factor)
    for name in ("counters/symbol_error", "counters/link_downed", "hw_counters/out_of_sequence"):
        node.port(name, 9 * factor)


def test_a_reboot_is_no_event(node: Node) -> None:
    change(node, 1000)
    node.at(30, OTHER_BOOT)
    assert node.check("--for", "slurm") == (0, "", "")


def test_flaps_before_a_reboot_count_until_the_window_has_passed(node: Node) -> None:
    node.net("carrier_down_count", 4)
    assert node.check(expectations=FLAPS_FAIL).status == 1
    node.net("carrier_down_count", 0)
    node.at(60, OTHER_BOOT)
    assert "3 link flaps" in node.check().text
    node.at(5000, OTHER_BOOT)
    assert node.check().text.startswith("PASS")


def test_a_reset_of_the_counters_is_no_event(node: Node) -> None:
    change(node, 1000)
    node.check()
    node.at(START + 5000)
    change(node, 0)
    assert node.check("--for", "slurm") == (0, "", "")


def test_a_wrap_at_32_bits_counts_what_is_certain(node: Node) -> None:
    node.net("statistics/rx_errors", 4_294_967_290)
    node.check()
    node.at(START + 5000)
    node.net("statistics/rx_errors", 9)
    assert node.check("--for", "slurm") == (0, "", "")
    node.net("statistics/rx_errors", 4_294_967_290)
    node.at(START + 10_000)
    node.check()
    node.at(START + 15_000)
    node.net("statistics/rx_errors", 150)
    assert "150 link errors" in node.check().text


def test_a_clock_that_goes_backwards_neither_forgets_nor_invents(
    node: Node, tmp_path: Path
) -> None:
    node.net("carrier_down_count", 3)
    assert "2 link flaps" in node.check().text
    lines = node.state.read_text().splitlines()
    words = lines[0].split()
    # The former check had a clock that is a day ahead of today's.
    ahead = [*words[:4], str(int(words[4]) + 86_400)]
    shift = 86_400 // 300
    moved = [
        line.replace(f"{int(words[4]) // 300}=", f"{int(words[4]) // 300 + shift}=")
        for line in lines[1:]
    ]
    node.state.write_text("\n".join([" ".join(ahead), *moved, ""]))
    node.at(START + 100)
    assert "2 link flaps" in node.check().text
    node.at(START + 5000)
    assert node.check().text.startswith("PASS")


BREAKAGES = [
    b"", b"\0" * 64, b"fabricgauge-state 1\nend\n", b"fabricgauge-state 2 x 1 1\nend\n",
    b"fabricgauge-state 1 b 08 09\nend\n", b"fabricgauge-state 1 b $(reboot) `x`\nend\n",
    b"HEAD 1 1\nnet/eth0/down $(touch x) 1=1\nend\n",
    b"HEAD 1 1\nnet/eth0/down 1 99999999999999999999=9\nend\n",
    b"HEAD 1 1\nnet/eth0/down 08 010=9,=,x=,3=\nend\n",
]  # fmt: skip


@pytest.mark.parametrize("content", BREAKAGES)
@pytest.mark.parametrize("shell", QUICK_SHELLS)
def test_a_broken_state_file_raises_no_alarm(tmp_path: Path, content: bytes, shell: str) -> None:
    node = build_node(tmp_path)
    node.state.write_bytes(content.replace(b"HEAD", f"fabricgauge-state 1 {BOOT}".encode()))
    assert node.check("--for", "slurm", shell=shell) == (0, "", "")
    assert node.state.read_text().endswith("\nend\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["proc", "state", "sys"]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 420), filler=st.binary(max_size=12))
def test_a_truncated_state_file_raises_no_alarm(node: Node, cut: int, filler: bytes) -> None:
    whole = node.state.read_bytes()
    try:
        node.state.write_bytes(whole[:cut] + filler)
        assert node.check("--for", "slurm").status == 0
    finally:
        node.state.write_bytes(whole)


@pytest.mark.parametrize("shell", QUICK_SHELLS)
def test_a_state_that_cannot_be_written_is_told_and_drains_no_node(
    tmp_path: Path, shell: str
) -> None:
    node = build_node(tmp_path)
    node.state = tmp_path / "nowhere" / "state"
    for _ in range(2):
        status, text, error = node.check(shell=shell)
        assert (status, error) == (3, "")
        assert text == f"INCONCLUSIVE: counters unknown: cannot write {node.state}\n"
        assert node.check("--for", "slurm", shell=shell).status == 0


def test_a_state_that_can_only_be_read_judges_no_counter(node: Node, tmp_path: Path) -> None:
    # The name leaves no room for that of a copy beside it, as a file system that is read-only.
    frozen = tmp_path / ("s" * 254)
    node.state = node.state.rename(frozen)
    before = frozen.read_bytes()
    node.net("statistics/rx_errors", 10**6)
    status, text, _ = node.check()
    assert (status, text.partition(":")[0]) == (3, "INCONCLUSIVE")
    assert "link errors" not in text
    assert "eth0" not in node.check("--for", "nagios").text
    assert frozen.read_bytes() == before
    node.net("carrier", 0)
    node.net("operstate", "down")
    assert node.check().text.startswith("FAIL: eth0 link down"), "other checks still fail"
    node.state = frozen.rename(tmp_path / "state")
    assert "link errors" in node.check().text


def test_the_state_is_kept_in_the_first_folder_that_can_be_written(tmp_path: Path) -> None:
    node = build_node(tmp_path)
    name = "fabricgauge/health.n1"
    assert f"cannot write {tmp_path}/var/lib/{name}" in node.check("--state", "").text
    assert not (tmp_path / "var").exists()
    for folder in ("run", "var/lib"):
        (tmp_path / folder).mkdir(parents=True)
        assert node.check("--state", "").text.startswith("PASS")
        assert (tmp_path / folder / name).read_text().endswith("\nend\n")
    (tmp_path / "run" / name).unlink()
    assert node.check("--state", "").text.startswith("PASS")
    assert not (tmp_path / "run" / name).exists()


def test_the_state_is_not_written_through_a_link(node: Node, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    node.state.unlink()
    node.state.symlink_to(victim)
    node.check()
    assert victim.read_text() == "mine"


def test_two_checks_at_once_leave_one_whole_state(node: Node) -> None:
    argv = ["dash", "-s", "--", "--root", str(node.root), "--state", str(node.state)]
    script = write_script(read_expectations(EXPECTED, "f"), ScriptSettings())
    node.net("carrier_down_count", 2)
    for _ in range(3):
        running = [
            subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        texts = [child.communicate(script)[0] for child in running]
        assert all("1 link flaps" in text for text in texts), texts
        assert all(child.returncode == 0 for child in running)
    assert node.state.read_text().endswith("\nend\n")
    assert sorted(path.name for path in node.root.iterdir()) == ["proc", "state", "sys"]


def kinds_of_shell(names: Sequence[str]) -> list[str]:
    script = write_script(None, ScriptSettings()).partition("# fabricgauge: end")[0]
    loop = 'for name do counter_kind "$name"; echo "$kind"; done'
    done = subprocess.run(
        ["dash", "-c", f"{script}\n{loop}", "-", *names], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_shell_knows_the_kinds_of_all_counters() -> None:
    names = [name for driver in DRIVERS for kind in driver.kinds.values() for name in kind.split()]
    names += [word for _, whole, parts in list_kind_words() for word in (*whole, *parts)]
    names += ["rx_prio3_pause", "local_ack_timeout_err", "np_cnp_sent", "RcvHdrOvr", "rx_pkts"]
    special = {"uncorrect": "uncorrectable", "storm_error": "storms"}
    expected = [
        next((special[word] for word in special if word in name), kind_of(name) or "none")
        for name in names
    ]
    assert kinds_of_shell(names) == expected
    assert kinds_of_shell(["rx_fec_Uncorrectable_blocks"]) == ["uncorrectable"]


def test_each_limit_has_an_origin_and_a_kind_that_counters_have() -> None:
    kinds = {row.kind for row in LIMITS}
    assert kinds <= {*get_args(CounterKind), "flaps", "uncorrectable", "storms"}
    assert all(row.origin and row.counters for row in LIMITS)
    assert all(
        row.fail_over is None or row.warn_over is None or row.warn_over < row.fail_over
        for row in LIMITS
    )
