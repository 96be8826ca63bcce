"""A /sys with adapters that this machine has not, and what survey.sh prints when it is mounted."""

import subprocess
from pathlib import Path

from fabricgauge.nodes.discover.probe import SURVEY, read_script

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private")
#: Positional parameters: the tree, and a folder of stand-ins for tools.
MOUNTED = 'mount --bind "$1" /sys && PATH=$2:$PATH && export PATH && exec sh -s'


def usable() -> bool:
    """Whether this machine lets an ordinary user mount in a namespace of its own."""
    done = subprocess.run([*NAMESPACE, "true"], capture_output=True)
    return done.returncode == 0


def pci(root: Path, bus: str, values: dict[str, str], driver: str = "") -> Path:
    """A function under devices/, linked from bus/pci/devices."""
    folder = root / "devices" / "pci0000:00" / bus
    folder.mkdir(parents=True)
    files(folder, values)
    if driver:
        link(folder / "driver", f"../../../bus/pci/drivers/{driver}")
    link(root / "bus" / "pci" / "devices" / bus, f"../../../devices/pci0000:00/{bus}")
    return folder


def files(folder: Path, values: dict[str, str]) -> None:
    for name, value in values.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def rdma(root: Path, bus: str, device: str, values: dict[str, str]) -> None:
    """An RDMA device on a function; ``values`` by path, e.g. ``ports/1/state``."""
    folder = root / "devices" / "pci0000:00" / bus / "infiniband" / device
    files(folder, values)
    link(folder / "device", f"../../../{bus}")
    link(
        root / "class" / "infiniband" / device,
        f"../../devices/pci0000:00/{bus}/infiniband/{device}",
    )


def tool(folder: Path, name: str, script: str) -> None:
    """A stand-in for a tool."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def surveyed(root: Path, tools: Path) -> str:
    """The whole answer of a node with that /sys."""
    tools.mkdir(exist_ok=True)
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", MOUNTED, "sh", str(root), str(tools)],
        input=read_script(SURVEY), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
