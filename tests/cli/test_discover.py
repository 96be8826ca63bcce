"""``fabricgauge discover`` as somebody types it, with a stand-in for ssh."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import rdma_nodes
from tests.rdma_nodes import Card

from fabricgauge.cli.verbs import cli
from fabricgauge.model.errors import UsageError

#: Runs the command on this machine for c1, hangs for c2, refuses c3, babbles for c4, is silent for
#: c5.
SSH = """#!/bin/sh
for word; do
    last=$word
    case $word in c2) exec sleep 60 ;; c3) echo "No route" >&2 && exit 255 ;;
    c4) exec yes ;; c5) exit 0 ;; esac
done
exec sh -c "$last"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    return {**os.environ, "PATH": f"{ssh.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def typed(*argv: str) -> list[str]:
    return [str(Path(sys.executable).with_name("fabricgauge")), "discover", *argv]


def run(environment: dict[str, str], *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(typed(*argv), env=environment, capture_output=True, text=True, timeout=60)


def test_a_bundle_reads_as_what_was_asked(environment: dict[str, str], tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    nodes = ("-w", "c[1-3]", "--timeout", "8", "--launcher", "ssh")
    asked = run(environment, *nodes, "-o", kept)
    assert asked.returncode == 3
    assert "1 of 3 nodes answered" in asked.stdout
    assert "c2: not reached: did not finish its answer within 8 s" in asked.stdout
    assert "No route" in asked.stdout
    read = run(environment, "--from", kept)
    assert (read.returncode, read.stdout) == (3, asked.stdout)
    document = json.loads(run(environment, "--from", kept, "--format", "json").stdout)
    assert [one["name"] for one in document["nodes"]] == ["c1", "c2", "c3"]


def test_nodes_that_babble_or_say_nothing_are_named(
    environment: dict[str, str], tmp_path: Path
) -> None:
    kept = str(tmp_path / "kept")
    asked = run(environment, "-w", "c[4-5]", "--launcher", "ssh", "-o", kept)
    assert asked.returncode == 3
    assert "0 of 2 nodes answered" in asked.stdout
    assert "c4 printed more than 16 MB" in asked.stdout
    assert "c5: line 1 of" in asked.stdout
    assert run(environment, "--from", kept).stdout == asked.stdout


def test_an_interrupt_keeps_the_answers_and_shows_them(
    environment: dict[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    with subprocess.Popen(
        typed("-w", "c[1-2]", "--launcher", "ssh", "-o", str(kept)),
        env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as asking:  # fmt: skip
        while not (kept / "c1" / "survey.txt").exists():
            assert asking.poll() is None
            time.sleep(0.02)
        asking.send_signal(signal.SIGINT)
        shown, _ = asking.communicate(timeout=30)
    assert asking.returncode == 130
    assert "1 of 2 nodes answered" in shown
    index = json.loads((kept / "bundle.json").read_text())
    assert list(index["troubles"]) == ["c2"]
    assert "interrupted" in index["troubles"]["c2"]


@pytest.mark.parametrize("other", [("-w", "c1"), ("--lab", "x"), ("-o", "y")])
def test_reading_excludes_asking(other: tuple[str, str], tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["discover", "--from", str(tmp_path), *other])
    assert isinstance(result.exception, UsageError)
    assert "--from" in str(result.exception)


def test_a_page_goes_into_a_file(environment: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run(environment, "-w", "c1", "--launcher", "ssh", "--format", "html", "--to", str(page))
    assert (done.returncode, done.stdout) == (0, "")
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("cards", "told"),
    [
        (rdma_nodes.HDR, ["network infiniband", "shared wire: also used by 10.20.0.0/24",
                          "ceiling: smaller of 24842.31 MB/s (one link)"]),
        (rdma_nodes.NDR, ["network infiniband, 2 rails together", "network infiniband-rail2",
                          "ceiling: 2 rails × 49684.62 MB/s = 99,369 MB/s per direction"]),
        (rdma_nodes.ROCE, ["network roce, roce-v2", "and 7580.80 MB/s (PCIe 3.0 x8)"]),
        (rdma_nodes.OPA, ["network omni-path", "LTP: types, CRC, credit"]),
        (rdma_nodes.EFA, ["network efa, 4 rails together", "4 rails × 12500.00 MB/s"]),
        (rdma_nodes.SLINGSHOT, ["network slingshot", "members: c[1-2]:cxi0:1"]),
        (rdma_nodes.DUAL_PORT, ["host links: 1 × 30323.19 MB/s"]),
    ],
)  # fmt: skip
def test_a_bundle_of_rdma_nodes_shows_networks_with_their_sums(
    cards: tuple[Card, ...], told: list[str], tmp_path: Path
) -> None:
    for number in (1, 2):
        (tmp_path / f"c{number}").mkdir()
        text = rdma_nodes.answer(number, cards)
        (tmp_path / f"c{number}" / "survey.txt").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["discover", "--from", str(tmp_path)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    for sentence in told:
        assert sentence in done.output
