"""Real promtool, Prometheus and node exporter read the metrics, fire on a fault, and clear."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT
from tests.features.health.node import Node, build_node

from fabricgauge.features.health.checks import LIMITS

FOLDER = resources.files("fabricgauge.features.health").joinpath("monitoring")
ALERTS = FOLDER.joinpath("alerts.yml").read_text("utf-8")
DASHBOARD: dict[str, Any] = json.loads(FOLDER.joinpath("dashboard.json").read_text("utf-8"))
PATIENCE_S = 60.0


def require(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


def down(node: Node) -> None:
    node.net("carrier", 0)
    node.net("operstate", "down")


def heal(node: Node) -> None:
    node.net("carrier", 1)
    node.net("operstate", "up")


@pytest.mark.parametrize("plant", [heal, down])
def test_promtool_accepts_the_metrics(tmp_path: Path, plant: Callable[[Node], None]) -> None:
    node = build_node(tmp_path / "node")
    plant(node)
    textfile = tmp_path / "fabricgauge.prom"
    node.check("--textfile", str(textfile))
    text = textfile.read_text()
    down_now = int(plant is down)
    assert f'fabricgauge_health_outcome{{outcome="fail"}} {down_now}\n' in text
    assert f'fabricgauge_health_link_up{{device="eth0"}} {1 - down_now}\n' in text
    assert 'fabricgauge_health_events_total{device="eth0",kind="flaps"} 1\n' in text
    assert 'fabricgauge_health_events_total{device="mlx5_0:1",kind="errors"} 3\n' in text
    assert [path.name for path in tmp_path.glob("*.prom*")] == [textfile.name]
    assert textfile.stat().st_mode & 0o777 == 0o644
    done = subprocess.run(
        [require("promtool"), "check", "metrics"], input=text, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_check_that_hangs_still_writes_its_metrics(tmp_path: Path) -> None:
    node = build_node(tmp_path / "node")
    (node.root / "sys/class/infiniband/mlx5_0/fw_ver").unlink()
    os.mkfifo(node.root / "sys/class/infiniband/mlx5_0/fw_ver")
    textfile = tmp_path / "fabricgauge.prom"
    node.check("--textfile", str(textfile), "--limit", "1")
    assert 'fabricgauge_health_outcome{outcome="inconclusive"} 1\n' in textfile.read_text()


def test_alert_rules_fire_and_clear(tmp_path: Path) -> None:
    promtool = require("promtool")
    (tmp_path / "alerts.yml").write_text(ALERTS)
    shutil.copy(Path(__file__).with_name("alerts_test.yml"), tmp_path)
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(
            [promtool, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    tested = (tmp_path / "alerts_test.yml").read_text()
    for alert in re.findall(r"- alert: (\w+)", ALERTS):
        assert f"alertname: {alert}" in tested


def test_alerts_have_the_limits_of_the_checks() -> None:
    limits = {row.kind: row for row in LIMITS}
    flaps = re.search(r'kind="flaps"\}\[1h\]\) > [0-9.]+\s+labels:\s+severity: (\w+)', ALERTS)
    errors = re.search(r'kind=~"errors\|uncorrectable"\}\[1h\]\) > ([0-9.]+)', ALERTS)
    assert flaps
    assert errors
    assert (flaps[1], limits["flaps"].fail_over) == ("warning", None)
    assert float(errors[1]) == (limits["errors"].warn_over or 0) + 0.5


def list_queries() -> list[str]:
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [query.replace("$node", ".*").replace("$network", ".*") for query in queries]


def test_the_dashboard_has_only_metrics_that_exist() -> None:
    page = "".join(
        (ROOT / "docs/reference" / name).read_text("utf-8") for name in ("health.md", "report.md")
    )
    used = set(re.findall(r"fabricgauge_\w+", " ".join([*list_queries(), ALERTS])))
    assert used
    assert all(f"`{name}`" in page for name in used)
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)), "panels overlap"
    assert max(x for x, _ in cells) < 24


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


class Server:
    """Prometheus and a node exporter on the loopback."""

    def __init__(self, folder: Path) -> None:
        exporter_port, self.port = free_port(), free_port()
        self.textfile = folder / "metrics" / "fabricgauge.prom"
        self.textfile.parent.mkdir()
        (folder / "alerts.yml").write_text(ALERTS.replace("for: 1m", "for: 2s"))
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{folder}/alerts.yml]\n"
            f"scrape_configs: [{{job_name: node, static_configs:"
            f" [{{targets: ['127.0.0.1:{exporter_port}']}}]}}]\n"
        )
        exporter = [
            require("prometheus-node-exporter"), "--collector.disable-defaults",
            "--collector.textfile", f"--collector.textfile.directory={self.textfile.parent}",
            f"--web.listen-address=127.0.0.1:{exporter_port}",
        ]  # fmt: skip
        prometheus = [
            require("prometheus"), f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{self.port}",
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            self.children = [
                subprocess.Popen(argv, stdout=log, stderr=log, cwd=folder)
                for argv in (exporter, prometheus)
            ]

    def get(self, path: str) -> Any:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/api/v1/{path}", timeout=10
            ) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def query(self, query: str) -> list[dict[str, Any]]:
        data = self.get(f"query?query={urllib.parse.quote(query)}")
        return data["result"] if data else []

    def firing(self) -> set[str]:
        data = self.get("alerts")
        alerts = data["alerts"] if data else []
        return {row["labels"]["alertname"] for row in alerts if row["state"] == "firing"}

    def end(self) -> None:
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait(20)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.end()


def until(holds: Callable[[], object], what: str) -> float:
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < PATIENCE_S, what
        time.sleep(0.2)
    return time.monotonic() - started


@pytest.mark.slow
def test_prometheus_scrapes_fires_on_a_planted_fault_and_clears(
    server: Server, tmp_path: Path
) -> None:
    node = build_node(tmp_path / "node")
    words = "--textfile", str(server.textfile)
    node.check(*words)
    passed = 'fabricgauge_health_outcome{outcome="pass"} == 1'
    until(lambda: server.query(passed), "the metrics are scraped")
    assert server.firing() == set()
    down(node)
    node.net("carrier_down_count", 4)
    node.check(*words)
    broken = {"FabricgaugeNodeBroken", "FabricgaugeLinkDown", "FabricgaugeLinkFlaps"}
    until(lambda: server.firing() >= broken, "the alerts fire")
    heal(node)
    node.state.unlink()
    node.check(*words)
    until(lambda: not server.firing() & {"FabricgaugeNodeBroken", "FabricgaugeLinkDown"}, "clear")
    for query in list_queries():
        data = server.get(f"query?query={urllib.parse.quote(query)}")
        assert data is not None, query
    ours = [
        query for query in list_queries() if "fabricgauge_health" in query and "> 0" not in query
    ]
    empty = [query for query in ours if not server.query(query)]
    assert all("== 0" in query or '"fail"' in query for query in empty), empty
