"""The backend ip on a real lab: broken, planned, mended, and broken again just as it was."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import fabricgauge

pytestmark = pytest.mark.lab

Lab = Callable[..., str]


def on(lab: str, node: str, *argv: str) -> str:
    done = fabricgauge("lab", "exec", "--name", lab, node, "--", *argv)
    assert done.returncode == 0, done.stderr
    return done.stdout


def facts(lab: str) -> list[object]:
    """Everything that this backend could touch."""
    found: list[object] = []
    for node in ("c1", "c2"):
        for words in (("ip", "-j", "addr"), ("ip", "-j", "route")):
            found += [json.loads(on(lab, node, *words) or "[]")]
        found.append(on(lab, node, "cat", "/etc/hosts"))
    return found


def breaking(lab: str) -> None:
    """One of each: MTU, an address gone, a link switched off, wrong addresses, a wrong name."""
    on(lab, "c1", "ip", "link", "set", "eth1", "mtu", "1400")
    on(lab, "c1", "ip", "addr", "del", "10.77.0.11/24", "dev", "eth0")
    on(lab, "c2", "ip", "link", "set", "eth0", "down")
    on(lab, "c2", "ip", "addr", "del", "10.77.1.12/24", "dev", "eth1")
    on(lab, "c2", "ip", "addr", "add", "10.77.1.99/24", "dev", "eth1")
    on(lab, "c2", "ip", "addr", "add", "10.77.1.12/24", "brd", "+", "dev", "eth1")
    on(lab, "c2", "ip", "addr", "add", "10.9.9.9/8", "brd", "+", "dev", "eth1", "label", "eth1:x")
    on(lab, "c2", "ip", "route", "add", "10.200.0.0/16", "via", "10.77.1.1", "metric", "7")
    hosts = on(lab, "c1", "cat", "/etc/hosts").replace("10.77.1.12 ", "10.77.1.77 ")
    on(lab, "c1", "sh", "-c", 'printf %s "$1" >/etc/hosts', "sh", hosts)


@pytest.fixture
def two(lab: Lab) -> str:
    return lab("--network", "net1:1G", "--network", "net2:1G:9000")


def test_a_clean_lab_has_no_step_to_make(two: str) -> None:
    done = fabricgauge("configure", "--lab", two)
    assert done.returncode == 0 and "Plan by ip: 0 steps to run" in done.stdout.splitlines()[0], (
        done
    )


def test_a_broken_lab_is_mended_and_the_undoing_breaks_it_again(two: str, tmp_path: Path) -> None:
    right = facts(two)
    breaking(two)
    broken = facts(two)
    plan = fabricgauge("configure", "--lab", two)
    assert facts(two) == broken  # planning changes nothing
    for words in (
        "c1$ ip link set dev eth1 mtu 9000", "c1$ ip addr replace 10.77.0.11/24 brd + dev eth0",
        "c2$ ip link set dev eth0 up", "c2$ ip addr del 10.77.1.99/24 dev eth1",
        "c2$ ip addr del 10.9.9.9/8 dev eth1", "| 10.77.1.12 c2-net2",
    ):  # fmt: skip
        assert words in plan.stdout, plan.stdout

    done = fabricgauge("configure", "--lab", two, "--apply", "--journals", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert without_route(facts(two)) == right
    again = fabricgauge("configure", "--lab", two)
    assert "Plan by ip: 0 steps to run" in again.stdout.splitlines()[0], again.stdout

    (journal,) = tmp_path.iterdir()
    undone = fabricgauge("configure", "--undo", str(journal), "--lab", two, "--apply")
    assert undone.returncode == 0, undone.stderr
    assert facts(two) == broken


def without_route(found: list[object]) -> list[object]:
    """The route that somebody added is still there, and not the plan's business."""
    own = "10.200.0.0/16"
    return [
        [one for one in part if one.get("dst") != own] if isinstance(part, list) else part
        for part in found
    ]


@pytest.mark.slow
def test_a_route_that_somebody_added_survives_the_change_of_address(
    two: str, tmp_path: Path
) -> None:
    breaking(two)
    fabricgauge("configure", "--lab", two, "--apply", "--journals", str(tmp_path))
    routes = json.loads(on(two, "c2", "ip", "-j", "route"))
    assert [one["gateway"] for one in routes if one["dst"] == "10.200.0.0/16"] == ["10.77.1.1"]


def test_an_address_on_the_wrong_interface_is_moved(two: str, tmp_path: Path) -> None:
    on(two, "c1", "ip", "addr", "del", "10.77.0.11/24", "dev", "eth0")
    on(two, "c2", "ip", "addr", "add", "10.77.0.11/24", "dev", "eth0")  # a duplicate
    done = fabricgauge("configure", "--lab", two, "--apply", "--journals", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "10.77.0.11" not in on(two, "c2", "ip", "-o", "addr")
    assert "10.77.0.11/24" in on(two, "c1", "ip", "-o", "addr", "show", "dev", "eth0")


def test_a_step_that_broke_off_between_its_commands_is_undone(lab: Lab, tmp_path: Path) -> None:
    name = lab()
    on(name, "c2", "ip", "addr", "del", "10.77.0.12/24", "dev", "eth0")
    on(name, "c2", "ip", "addr", "add", "10.77.0.99/24", "dev", "eth0")
    before = facts(name)
    failing = tmp_path / "bin" / "ip"
    failing.parent.mkdir()
    real = shutil.which("ip")
    failing.write_text(f'#!/bin/sh\n[ "$1 $2" != "addr replace" ] || exit 2\nexec {real} "$@"\n')
    failing.chmod(0o755)
    done = fabricgauge(
        "configure", "--lab", name, "--apply", "--journals", str(tmp_path / "journals"),
        PATH=f"{failing.parent}:{os.environ['PATH']}",
    )  # fmt: skip
    assert done.returncode == 1
    assert "10.77.0.99" not in on(name, "c2", "ip", "-o", "addr")  # it is half made
    (journal,) = (tmp_path / "journals").iterdir()
    undone = fabricgauge("configure", "--undo", str(journal), "--lab", name, "--apply")
    assert undone.returncode == 0, undone.stderr
    assert facts(name) == before


def test_a_missing_route_of_the_subnet_is_put_back(two: str, tmp_path: Path) -> None:
    before = on(two, "c1", "ip", "route")
    on(two, "c1", "ip", "route", "del", "10.77.1.0/24", "dev", "eth1")
    done = fabricgauge("configure", "--lab", two, "--apply", "--journals", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert on(two, "c1", "ip", "route") == before


@pytest.mark.slow
def test_a_cable_that_is_out_fails_the_check_and_is_noted(two: str, tmp_path: Path) -> None:
    fabricgauge("lab", "fault", "--name", two, "link-down", "c2", "net2")
    on(two, "c1", "ip", "link", "set", "eth0", "mtu", "1400")
    done = fabricgauge("configure", "--lab", two, "--apply", "--journals", str(tmp_path))
    assert done.returncode == 1
    assert "c2:eth1 has no carrier" in done.stdout
    assert "net2" in done.stderr and "verification failed" in done.stderr
    assert "steps made before: " in done.stderr and "--undo" in done.stderr


@pytest.mark.slow
def test_a_journal_says_what_ran_while_it_runs(two: str, tmp_path: Path) -> None:
    on(two, "c1", "ip", "link", "set", "eth0", "mtu", "1400")
    fabricgauge("configure", "--lab", two, "--apply", "--journals", str(tmp_path))
    (journal,) = tmp_path.iterdir()
    lines = [json.loads(line) for line in (journal / "journal.jsonl").read_text().splitlines()]
    mtu = ["ip", "link", "set", "dev", "eth0", "mtu", "1500"]
    run = [line["event"] for line in lines if line.get("argv") == mtu]
    assert run == ["starting", "command"]
    assert journal.stat().st_mode & 0o077 == 0  # contents of files stand in it


def test_who_plans_for_some_nodes_neither_touches_nor_renumbers_others(
    lab: Lab, tmp_path: Path
) -> None:
    name = lab("--nodes", "3")
    file = tmp_path / "net.toml"
    file.write_text(
        'backend = "ip"\n[[network]]\nname = "n"\nsubnet = "10.99.0.0/24"\ninterface = "eth0"\n'
        'first = "10.99.0.1"\n'
    )
    for text in ("", 'nodes = "c[1-3]"\n'):
        file.write_text(text + file.read_text())
        done = fabricgauge("configure", str(file), "--lab", name, "-x", "c2", "--format", "json")
        ports = json.loads(done.stdout)["wanted"][0]["ports"]
        assert [(one["node"], one["ip"]) for one in ports] == [
            ("c1", "10.99.0.1"), ("c3", "10.99.0.3"),
        ]  # fmt: skip
        assert '"c2"' not in done.stdout
    only = fabricgauge("configure", "--lab", name, "-x", "c[1-2]", "--format", "json")
    assert {one["node"] for one in json.loads(only.stdout)["wanted"][0]["ports"]} == {"c3"}


@pytest.mark.slow
def test_a_port_of_a_bridge_is_refused_and_the_bridge_gets_the_address(
    lab: Lab, tmp_path: Path
) -> None:
    name = lab()
    on(name, "c1", "ip", "link", "add", "br0", "type", "bridge")
    on(name, "c1", "ip", "link", "set", "eth0", "master", "br0")
    file = tmp_path / "net.toml"
    text = (
        'backend = "ip"\nnodes = "c1"\n[[network]]\nname = "n"\nsubnet = "10.99.0.0/24"\n'
        'interface = "eth0"\nfirst = "10.99.0.1"\n'
    )
    file.write_text(text)
    done = fabricgauge("configure", str(file), "--lab", name)
    assert done.returncode == 2 and "c1:eth0 belongs to br0" in done.stderr, done
    file.write_text(text.replace("eth0", "br0"))
    done = fabricgauge("configure", str(file), "--lab", name)
    assert done.returncode == 0 and "Give c1:br0 the address 10.99.0.1/24" in done.stdout, done
    done = fabricgauge("configure", str(file), "--lab", name, "--backend", "xcat")
    assert done.returncode == 2 and "c1:br0 is a bridge" in done.stderr, done
