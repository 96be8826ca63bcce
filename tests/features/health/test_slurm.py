"""A real slurmd in a lab runs the script: it drains, says why, and takes the node back."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.features.slurm_lab.slurm_jobs import await_job, node_state, submit, until
from tests.lab.conftest import MakeLab, on

from fabricgauge.features.health.expectations import Expectations, read_expectations
from fabricgauge.features.health.learn import learn_expectations, parse_facts
from fabricgauge.features.health.script import ScriptSettings, write_script
from fabricgauge.lab.faults import heal, inject
from fabricgauge.lab.spec import NetworkSpec
from fabricgauge.lab.state import LabFault, LabState

pytestmark = pytest.mark.lab

STATE = "/run/fabricgauge-health"


class Cluster:
    """Two nodes with a network for Slurm and one, ``ib``, that is checked."""

    def __init__(self, state: LabState) -> None:
        self.state = state
        self.etc = Path(state.directory) / "slurm" / "etc"
        script = write_script(None, ScriptSettings())
        (self.etc / "facts.sh").write_text(script)
        facts = {
            node: parse_facts(node, on(state, node, "sh", "/etc/slurm/facts.sh", "--facts"))
            for node in ("c1", "c2")
        }
        self.known = learn_expectations(facts)

    def install(
        self, name: str, settings: ScriptSettings, known: Expectations | None = None, *lines: str
    ) -> None:
        """Write a script to the nodes, and lines to slurm.conf."""
        path = self.etc / name
        path.write_text(write_script(known or self.known, settings))
        path.chmod(0o755)
        with (self.etc / "slurm.conf").open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))
        on(self.state, "head", "scontrol", "reconfigure")

    def watch(self, state: str = STATE) -> None:
        self.install(
            "health.sh", ScriptSettings("slurm", drain=True, state=state), None,
            "HealthCheckProgram=/etc/slurm/health.sh", "HealthCheckInterval=2",
        )  # fmt: skip
        if state == STATE:
            until(lambda: self.has_run("c1"), "the first check")

    def has_run(self, node: str) -> bool:
        return "end" in on(self.state, node, "cat", STATE, check=False)

    @property
    def reason(self) -> str:
        return on(self.state, "head", "sinfo", "-h", "-R", "-o", "%120E|%N").strip()

    def await_drain(self, *words: str) -> None:
        until(lambda: node_state(self.state, "c1").startswith("drain"), "c1 is drained")
        until(lambda: all(word in self.reason for word in words), "the reason is", words)
        reason, _, node = self.reason.partition("|")
        assert node.strip() == "c1"
        assert reason.strip().endswith("[fabricgauge]")
        assert node_state(self.state, "c2") == "idle"

    def await_idle(self) -> None:
        until(lambda: node_state(self.state, "c1") == "idle", "c1 is idle")
        assert self.reason == ""

    def fault(self, kind: str, amount: float = 0.0) -> None:
        self.state = inject(self.state, LabFault(kind, "c1", "ib", amount))

    def heal(self) -> None:
        self.state = heal(self.state)

    def replace(self, path: str, content: str) -> None:
        """Let c1 read another value from a file of its kernel."""
        on(self.state, "c1", "sh", "-c", 'printf "%s\\n" "$1" >/run/planted', "-", content)
        on(self.state, "c1", "mount", "--bind", "/run/planted", path)


@pytest.fixture
def cluster(slurm_programs: None, make_lab: MakeLab) -> Cluster:
    networks = NetworkSpec("mgmt", 1e9), NetworkSpec("ib", 1e9)
    return Cluster(make_lab(*networks, slurm=True))


def test_a_node_whose_link_goes_down_is_drained_and_comes_back(cluster: Cluster) -> None:
    cluster.watch()
    cluster.fault("link-down")
    cluster.await_drain("eth1 link down")
    cluster.heal()
    cluster.await_idle()


@pytest.mark.slow
def test_a_node_that_cannot_keep_its_state_is_drained_and_comes_back(cluster: Cluster) -> None:
    cluster.watch("/proc/nowhere/state")
    cluster.fault("link-down")
    cluster.await_drain("eth1 link down")
    cluster.heal()
    cluster.await_idle()


@pytest.mark.slow
def test_without_consent_no_node_is_drained(cluster: Cluster) -> None:
    cluster.install(
        "health.sh", ScriptSettings("slurm", state=STATE), None,
        "HealthCheckProgram=/etc/slurm/health.sh", "HealthCheckInterval=2",
    )  # fmt: skip
    cluster.fault("link-down")
    time.sleep(5)
    assert node_state(cluster.state, "c1") == "idle"


@pytest.mark.slow
def test_half_the_rate_errors_and_flaps_drain_with_their_figures(cluster: Cluster) -> None:
    cluster.known = msgspec.structs.replace(cluster.known, limits={"flaps": (0, 2)})
    cluster.watch()
    cluster.fault("port-rate", 500e6)
    cluster.await_drain("eth1 at 492 of 984 Mb/s")
    cluster.heal()
    cluster.await_idle()
    path = "/sys/class/net/eth1/statistics/rx_errors"
    cluster.replace(path, "500")
    cluster.await_drain("eth1 500 link errors in 1 h")
    on(cluster.state, "c1", "umount", path)
    on(cluster.state, "c1", "rm", STATE)
    cluster.await_idle()
    for _ in range(3):
        cluster.fault("link-down")
        cluster.heal()
    cluster.await_drain("eth1 3 link flaps in 1 h")


@pytest.mark.slow
def test_a_node_that_somebody_else_drained_is_left_alone(cluster: Cluster) -> None:
    cluster.watch()
    words = "NodeName=c1", "State=DRAIN", "Reason=new disk"
    on(cluster.state, "head", "scontrol", "update", *words)
    cluster.fault("link-down")
    time.sleep(5)
    cluster.heal()
    time.sleep(5)
    assert node_state(cluster.state, "c1") == "drained"
    assert cluster.reason.startswith("new disk")


def run_job(cluster: Cluster, folder: Path, wanted: str = "COMPLETED") -> dict[str, str]:
    number = submit(cluster.state, folder, "true", "-w", "c1")
    return await_job(cluster.state, number, wanted)


def block(cluster: Cluster) -> None:
    """Let the carrier of c1 be read for ever, as in a driver that hangs."""
    on(cluster.state, "c1", "mkfifo", "/run/hangs")
    on(cluster.state, "c1", "mount", "--bind", "/run/hangs", "/sys/class/net/eth1/carrier")


def misname(cluster: Cluster) -> None:
    cluster.known = read_expectations('version = 1\n[[class]]\nnodes = "c2"', "f")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "words"),
    [(misname, "no class of the file"), (block, "check of link of eth1: not done within 2 s")],
)
def test_a_prolog_that_decides_nothing_drains_no_node(
    cluster: Cluster, tmp_path: Path, plant: Callable[[Cluster], None], words: str
) -> None:
    plant(cluster)
    settings = ScriptSettings("slurm", drain=True, state=STATE, limit_s=2)
    cluster.install("prolog.sh", settings, None, "Prolog=/etc/slurm/prolog.sh", "PrologFlags=Alloc")
    started = time.monotonic()
    text = on(cluster.state, "c1", "sh", "/etc/slurm/prolog.sh")
    assert time.monotonic() - started < 30  # the file would be read for ever
    assert words in text
    job = run_job(cluster, tmp_path)
    assert job["Restarts"] == "0"
    assert node_state(cluster.state, "c1") == "idle"


@pytest.mark.slow
@pytest.mark.parametrize("drain", [True, False])
def test_a_prolog_that_fails_requeues_the_job_and_drains(
    cluster: Cluster, tmp_path: Path, drain: bool
) -> None:
    cluster.fault("link-down")
    settings = ScriptSettings("slurm", drain=drain, state=STATE)
    cluster.install("prolog.sh", settings, None, "Prolog=/etc/slurm/prolog.sh", "PrologFlags=Alloc")
    number = submit(cluster.state, tmp_path, "true", "-w", "c1")
    until(lambda: node_state(cluster.state, "c1").startswith("drain"), "c1 is drained")
    assert cluster.reason.startswith("eth1 link down" if drain else "Prolog error")
    assert await_job(cluster.state, number, "PENDING")["Restarts"] == "1"
