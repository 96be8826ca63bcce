"""The guide's procedure for its networks, against stand-ins for xCAT's tools."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM
from tests.features.configure.apply import guide
from tests.features.configure.apply.conftest import Cluster

#: updatenode also writes the interface anew that nodes were installed by.
AGREED = ("--consent", "management")
NODES = ("-w", "c[1-2]", "--launcher", "ssh")

SNAPSHOTS = Path(__file__).parents[3] / "report" / "snapshots"


def configure(
    cluster: Cluster, *words: str | Path, **env: str
) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **cluster.env(**env), "COLUMNS": "100"}
    return subprocess.run(
        [PROGRAM, "configure", *words], capture_output=True, text=True, env=environment,
        check=False, timeout=120,
    )  # fmt: skip


def of_guide(tmp_path: Path, text: str, lanes: str = "guide--1x40") -> tuple[str | Path, ...]:
    return (
        guide.description(tmp_path, text), "--from", guide.bundle(tmp_path, lanes),
        "--launcher", "ssh",
    )  # fmt: skip


def assert_snapshot(name: str, text: str) -> None:
    """``UPDATE`` is the file's content as it would be today."""
    file = SNAPSHOTS / name
    assert file.exists(), f"write it: {text}"
    assert text == file.read_text(encoding="utf-8")


def nic(node: str, name: str, values: tuple[str, str, str, str]) -> list[str]:
    keys = ("nicips", "nicnetworks", "nictypes", "nichostnamesuffixes")
    pairs = [f"{key}.{name}={value}" for key, value in zip(keys, values, strict=True)]
    return ["chdef", "-t", "node", "-o", node, *pairs]


def test_the_plan_of_the_40_gbe_network_reads_so(tmp_path: Path, cluster: Cluster) -> None:
    done = configure(cluster, *of_guide(tmp_path, guide.NET40))
    assert done.returncode == 0, done.stderr
    assert_snapshot("configuration-net40.txt", done.stdout.replace(str(tmp_path), "TMP"))
    assert cluster.calls() == []  # planning from a bundle asks nobody
    (tmp_path / "bundle" / "head").mkdir()  # of whom the description does not speak
    shutil.copy(tmp_path / "bundle/c1/lshw.txt", tmp_path / "bundle/head/lshw.txt")
    words = (tmp_path / "net.toml", "--from", tmp_path / "bundle", "--launcher", "ssh")
    assert configure(cluster, *words).stdout == done.stdout


def test_the_plan_of_the_omni_path_network_reads_so(tmp_path: Path, cluster: Cluster) -> None:
    text = guide.OMNI_PATH.replace('path = "/opt/intel"\n', 'path = "/opt/intel"\nfsid = 13\n')
    done = configure(cluster, *of_guide(tmp_path, text))
    assert done.returncode == 0, done.stderr
    assert_snapshot("configuration-ib0.txt", done.stdout.replace(str(tmp_path), "TMP"))


def test_the_40_gbe_network_is_made_and_undone(tmp_path: Path, cluster: Cluster) -> None:
    words = (*of_guide(tmp_path, guide.NET40), "--journals", tmp_path / "journals", *AGREED)
    done = configure(cluster, *words, "--apply")
    assert done.returncode == 0, done.stderr
    assert cluster.changes() == [
        ["chdef", "-t", "network", "-o", "net40", "net=10.10.40.0", "mask=255.255.255.0"],
        ["makenetworks"],
        nic("c1", "enp97s0", ("10.10.40.21", "net40", "Ethernet", "-eth40")),
        nic("c2", "enp182s0", ("10.10.40.22", "net40", "Ethernet", "-eth40")),
        ["makehosts", "c1,c2"],
        ["makedns", "-n"],
        ["chdef", "-t", "node", "-o", "c1,c2", "-p", "postscripts=confignetwork"],
        ["updatenode", "c1,c2", "-P", "confignetwork -s"],
    ]
    pings = [call for call in cluster.calls() if call[1] == "ping"]
    assert sorted(pings) == [
        ["c1", "ping", "-c", "3", "-W", "2", "-I", "enp97s0", "10.10.40.22"],
        ["c2", "ping", "-c", "3", "-W", "2", "-I", "enp182s0", "10.10.40.21"],
    ]
    assert "10.10.40.22 c2-eth40" in cluster.file("head", "/etc/hosts").read_text()
    again = configure(cluster, *words, "--apply")
    assert "No changes needed" in again.stderr and again.returncode == 0

    (journal,) = (tmp_path / "journals").iterdir()
    program, verb, *undoing = shlex.split(done.stderr.rpartition("to undo: ")[2])
    assert (program, verb, undoing[1]) == ("fabricgauge", "configure", str(journal))
    undone = configure(cluster, *undoing)
    assert undone.returncode == 0, undone.stderr
    state = json.loads((cluster.home / "state.json").read_text())
    assert not any(value for node in state["node"].values() for value in node.values())
    assert "net40" not in state["network"]
    assert set(map(tuple, state["live"].values())) == {()}
    assert cluster.file("head", "/etc/hosts").read_text() == "127.0.0.1 localhost\n"
    assert "steps undone: none" in configure(cluster, *undoing).stderr
    both = configure(cluster, "--undo", journal, tmp_path / "net.toml")
    assert both.returncode == 2 and "--undo takes neither FILE" in both.stderr


def test_no_running_node_is_updated_without_consent(tmp_path: Path, cluster: Cluster) -> None:
    words = (*of_guide(tmp_path, guide.NET40), "--journals", tmp_path / "journals", "--apply")
    stopped = configure(cluster, *words)
    assert stopped.returncode == 3 and "needs --consent management" in stopped.stderr
    assert not any(call[0] == "updatenode" for call in cluster.changes())
    assert configure(cluster, *words, *AGREED).returncode == 0
    assert cluster.changes()[-1] == ["updatenode", "c1,c2", "-P", "confignetwork -s"]


def test_undoing_spares_what_somebody_wrote_into_the_hosts_file(
    tmp_path: Path, cluster: Cluster
) -> None:
    words = (*of_guide(tmp_path, guide.NET40), "--journals", tmp_path / "journals", *AGREED)
    assert configure(cluster, *words, "--apply").returncode == 0
    hosts = cluster.file("head", "/etc/hosts")
    hosts.write_text(hosts.read_text() + "10.1.1.1 somebodys\n")
    (journal,) = (tmp_path / "journals").iterdir()
    undone = configure(cluster, "--undo", journal, *NODES, "--apply")
    assert undone.returncode == 0, undone.stderr
    assert hosts.read_text() == "127.0.0.1 localhost\n10.1.1.1 somebodys\n"
    assert [one.name for one in hosts.parent.iterdir() if "fabricgauge" in one.name] == []


def omni_path(cluster: Cluster) -> None:
    """The head as the guide finds it: an image, and exports of OpenHPC."""
    for file in ("/etc/security/limits.conf", "/etc/fstab"):
        cluster.file("head", guide.ROOT + file).write_text("")
    cluster.file("head", "/etc/exports").write_text(
        "/home *(rw,no_subtree_check,fsid=10,no_root_squash)\n/opt/ohpc/pub *(ro,fsid=1)\n"
    )
    for node in ("c1", "c2"):
        port = "/sys/class/net/ib0/device/infiniband/hfi1_0/ports/1"
        cluster.file(node, f"{port}/state").write_text("4: ACTIVE\n")


@pytest.mark.slow
def test_the_omni_path_network_is_made_with_consent_only(tmp_path: Path, cluster: Cluster) -> None:
    omni_path(cluster)
    words = (*of_guide(tmp_path, guide.OMNI_PATH), "--journals", tmp_path / "journals", "--apply")
    stopped = configure(cluster, *words)
    assert stopped.returncode == 3 and "needs --consent reboot" in stopped.stderr
    assert not any(call[0] in ("pdsh", "updatenode") for call in cluster.changes())
    exports = cluster.file("head", "/etc/exports").read_text()
    assert exports.endswith("/opt/intel *(ro,no_subtree_check,fsid=2)\n")
    limits = cluster.file("head", "/etc/security/limits.conf").read_text()
    assert limits == "* soft memlock unlimited\n* hard memlock unlimited\n# End of file\n"

    before = len(cluster.changes())
    done = configure(cluster, *words, "--consent", "reboot")
    assert done.returncode == 0, done.stderr
    assert cluster.changes()[before:] == [["pdsh", "-w", "c1,c2", "reboot"]]  # the rest was made
    assert configure(cluster, *words).returncode == 0


def test_a_step_that_fails_stops_the_rest_and_says_how_to_undo(
    tmp_path: Path, cluster: Cluster
) -> None:
    words = (*of_guide(tmp_path, guide.NET40), "--journals", tmp_path / "journals", "--apply",
             *AGREED)  # fmt: skip
    done = configure(cluster, *words, STAND_IN_FAIL="makehosts")
    assert done.returncode == 1
    assert "'makehosts c1,c2' on the head ended with 1: makehosts: it was told" in done.stderr
    (journal,) = (tmp_path / "journals").iterdir()
    assert f"--undo {journal}" in done.stderr
    assert cluster.changes()[-1] == ["makehosts", "c1,c2"]
    lines = [json.loads(line) for line in (journal / "journal.jsonl").read_text().splitlines()]
    assert (
        lines[-1]["event"] == "failed" and lines[-2]["stderr"] == "makehosts: it was told to fail\n"
    )
    # made good, a second run does only what is left
    more = len(cluster.changes())
    assert configure(cluster, *words).returncode == 0
    assert cluster.changes()[more] == ["makehosts", "c1,c2"]


def test_without_xcats_tools_it_stays_a_plan(tmp_path: Path, cluster: Cluster) -> None:
    cluster.without("makehosts", "updatenode")
    done = configure(cluster, *of_guide(tmp_path, guide.NET40), "--apply")
    assert done.returncode == 3
    assert "the head has no makehosts" in done.stderr
    assert "the head has no updatenode" in done.stderr
    assert cluster.changes() == []


@pytest.mark.slow
def test_lanes_of_4x10_are_set_to_1x40(tmp_path: Path, cluster: Cluster) -> None:
    (cluster.home / "state.json").write_text(json.dumps({"lanes": {"c1": "4x10", "c2": "4x10"}}))
    words = (*of_guide(tmp_path, guide.NET40, "2.34--4x10"), "--journals", tmp_path / "journals")
    plan = configure(cluster, *words)
    assert "c1$ qcu64e /NIC=1 /SET 1x40" in plan.stdout
    assert "takes effect after a restart" in plan.stdout
    done = configure(cluster, *words, "--apply", "--consent", "reboot")
    assert done.returncode == 0, done.stderr
    assert ["c1", "qcu64e", "/NIC=1", "/SET", "1x40"] in cluster.calls()
    assert ["c2", "qcu64e", "/NIC=1", "/SET", "1x40"] in cluster.calls()
    (journal,) = (tmp_path / "journals").iterdir()
    assert configure(cluster, "--undo", journal, *NODES, "--apply").returncode == 0
    assert ["c2", "qcu64e", "/NIC=1", "/SET", "4x10"] in cluster.calls()


def test_lanes_are_not_set_without_consent_to_the_restart_that_they_need(
    tmp_path: Path, cluster: Cluster
) -> None:
    """Once set they read as wanted, so that a later plan would have no restart for them."""
    (cluster.home / "state.json").write_text(json.dumps({"lanes": {"c1": "4x10", "c2": "4x10"}}))
    words = (*of_guide(tmp_path, guide.NET40, "2.34--4x10"), "--journals", tmp_path / "journals")
    stopped = configure(cluster, *words, "--apply")
    assert stopped.returncode == 3 and "needs --consent reboot" in stopped.stderr
    assert not any("/SET" in call for call in cluster.calls()) and not cluster.changes()
    done = configure(cluster, *words, "--apply", "--consent", "reboot")
    assert done.returncode == 0, done.stderr
    assert ["pdsh", "-w", "c1,c2", "reboot"] in cluster.changes()


def test_a_plan_that_no_script_can_hold_is_refused_in_a_sentence(
    tmp_path: Path, cluster: Cluster
) -> None:
    """A NUL in a file can be handed to a program, and not be written into a script."""
    cluster.file("head", "/etc/hosts").write_bytes(b"127.0.0.1 local\0host\n")
    net = guide.description(tmp_path, guide.NET40.replace('"xcat"', '"ip"'))
    words = (net, "--from", guide.bundle(tmp_path), "--launcher", "ssh", "--format", "script")
    done = configure(cluster, *words)
    assert done.returncode == 0, done.stderr  # nobody was asked
    done = configure(cluster, *words, "--apply", "--journals", tmp_path / "journals")
    assert done.returncode == 2 and "the plan cannot be a script" in done.stderr
    assert not (tmp_path / "journals").exists()


def test_the_script_does_what_apply_does(tmp_path: Path, cluster: Cluster) -> None:
    script = tmp_path / "plan.sh"
    words = of_guide(tmp_path, guide.NET40)
    assert configure(cluster, *words, "--format", "script", "--to", script).returncode == 0
    assert cluster.calls() == []
    done = subprocess.run(
        ["/bin/sh", script, "apply", "management"], env=cluster.env(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert cluster.changes()[-1] == ["updatenode", "c1,c2", "-P", "confignetwork -s"]
    assert "to undo: sh" in done.stdout
    numbers = done.stdout.rpartition("undo ")[2].split()
    undone = subprocess.run(
        ["/bin/sh", script, "undo", *numbers], env=cluster.env(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert undone.returncode == 0, undone.stderr
    state = json.loads((cluster.home / "state.json").read_text())
    assert "net40" not in state["network"]
