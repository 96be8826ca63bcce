"""Time of `fabricgauge health` on a node, under each shell, as an ordinary user.

Nodes: this machine, one of a lab, and two that files imitate. The larger one has 8 adapters, each
with a port of InfiniBand and one of Ethernet and 40 counters more, and 200 PCI functions. Healthy
runs follow each other with one state file; each must pass, print nothing and end with 0.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.tables import heading, table
from tests.features.health.node import SHELLS, Node, build_node

from fabricgauge.check.target import reach_hosts
from fabricgauge.features.health.expectations import Expectations
from fabricgauge.features.health.learn import learn_expectations, parse_facts
from fabricgauge.features.health.script import ScriptSettings, write_script
from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.request import OWN_LAB, MeasurementRequest, keep_applicable

ADAPTERS, COUNTERS, FUNCTIONS = 8, 40, 200
#: The user nobody, in a group of that name.
NOBODY = 65534


def build_large_node(root: Path) -> Node:
    """Return a node with many adapters, ports and counters."""
    node = build_node(root)
    for number in range(1, ADAPTERS):
        _copy(root / "sys/class/net/eth0", root / f"sys/class/net/eth{number}")
        _copy(root / "sys/class/infiniband/mlx5_0", root / f"sys/class/infiniband/mlx5_{number}")
    for number in range(ADAPTERS):
        for counter in range(COUNTERS):
            name = f"sys/class/infiniband/mlx5_{number}/ports/1/hw_counters/rx_drop_{counter}"
            node.write(name, 0)
    for number in range(FUNCTIONS):
        path = f"sys/bus/pci/devices/0000:{number:02x}:1f.0"
        node.write(f"{path}/class", "0x060400")
        node.write(f"{path}/vendor", "0x8086")
    return node


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", source, target], check=True)


def learn(prefix: Sequence[str], root: str) -> Expectations:
    script = write_script(None, ScriptSettings())
    done = subprocess.run(
        [*prefix, "sh", "-s", "--", "--facts", "--root", root], input=script, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return learn_expectations({"n1": parse_facts("n1", done.stdout)})


def run_once(
    prefix: Sequence[str], shell: str, script: Path, root: str, state: Path
) -> tuple[float, float, int, str]:
    """Return the seconds of one check, those of processors, its status and its output."""
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    argv = [*prefix, *(user if os.geteuid() == 0 else []), *SHELLS[shell], str(script)]
    words = ["--for", "slurm", "--root", root, "--state", str(state)]
    started, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [*argv, *words], capture_output=True, text=True, check=False,
        env={**os.environ, "SLURMD_NODENAME": "n1", "TMPDIR": str(state.parent)},
    )  # fmt: skip
    elapsed, after = time.perf_counter() - started, os.times()
    return elapsed, sum(after[2:4]) - sum(before[2:4]), done.returncode, done.stdout


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--healthy", type=int, default=1000)
    options = parser.parse_args(words)
    title = "Health of a node"
    print(heading(title, f"{options.runs} runs each, as the user nobody; seconds"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        folder.chmod(0o755)
        places = folder / "state"
        places.mkdir()
        places.chmod(0o777)
        build_large_node(folder / "large")
        build_node(folder / "small")
        nodes: dict[str, tuple[Sequence[str], str]] = {
            "this machine": ((), ""), "1 adapter": ((), f"{folder}/small"),
            "8 adapters": ((), f"{folder}/large"),
        }  # fmt: skip
        request = keep_applicable(MeasurementRequest(lab=OWN_LAB, nodes=2))
        try:
            access, _ = stack.enter_context(reach_hosts(request))
            nodes["node of a lab"] = (access.hosts[0].through([]), "")
        except FabricgaugeError as error:
            print(f"no lab: {error}")
        rows = []
        for label, (prefix, root) in nodes.items():
            script = folder / f"{label.replace(' ', '-')}.sh"
            script.write_text(write_script(learn(prefix, root), ScriptSettings("slurm")))
            script.chmod(0o755)
            for shell in SHELLS:
                state = places / f"{label}-{shell}"
                answers = [
                    run_once(prefix, shell, script, root, state) for _ in range(options.runs)
                ]
                times = [answer[0] for answer in answers]
                processor_s = statistics.fmean(answer[1] for answer in answers)
                silent = sum(answer[2:] == (0, "") for answer in answers)
                figures = statistics.median(times), max(times), processor_s
                rows.append((label, shell, *(f"{figure:.3f}" for figure in figures), str(silent)))
        heads = ("node", "shell", "median", "worst", "processors, mean", "silent with 0")
        print(table(heads, rows))
        state = places / "healthy"
        script, root = folder / "1-adapter.sh", f"{folder}/small"
        answers = [run_once((), "dash", script, root, state) for _ in range(options.healthy)]
        alarms = sum(answer[2:] != (0, "") for answer in answers)
        print(f"\n{options.healthy} healthy runs: {alarms} with output or a status other than 0")


if __name__ == "__main__":
    main()
