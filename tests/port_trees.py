"""What each driver shows of a port in /sys/class/infiniband, unpacked from tests/fixtures/ports.

A line of a tree is a file with what it says, or a folder (``/`` at its end) with the names in it
and their figures, which are 0 where none stands. ``ethtool/`` has names of ``ethtool -S``.
"""

import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from fabricgauge.nodes.discover.counters import CounterReading, parse_counters

FOLDER = Path(__file__).parent / "fixtures/ports"
DRIVERS = tuple(sorted(one.stem for one in FOLDER.glob("*.tree")))


def tree(driver: str) -> dict[str, str]:
    """What files say, by path."""
    found: dict[str, str] = {}
    for line in (FOLDER / f"{driver}.tree").read_text().splitlines():
        path, _, said = line.partition(" ")
        if path.endswith("/"):
            words = (word.partition("=") for word in said.split())
            found.update((path + name, value or "0") for name, _, value in words)
        elif path != "#":
            found[path] = said
    return found


def names(driver: str) -> set[str]:
    """What the driver and its interface count, as they call it."""
    paths = (one.rsplit("/", 1) for one in tree(driver))
    return {name for folder, name in paths if folder.endswith(("counters", "ethtool"))}


def read(folder: Path, driver: str, more: Mapping[str, int]) -> CounterReading:
    """What counters.sh tells of the tree, with some counters higher."""
    root = folder / f"{driver}-{len(list(folder.iterdir()))}"
    for place, said in tree(driver).items():
        name = place.rpartition("/")[2]
        value = f"{int(said) + more[name]}" if name in more else said
        file = root / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    script = resources.files("fabricgauge.nodes.discover").joinpath("counters.sh").read_text()
    script = script.replace("/sys/class/infiniband", str(root))
    done = subprocess.run(
        ["sh", "-s"], input=script, capture_output=True, text=True, check=True, timeout=60
    )
    return parse_counters("c1", done.stdout)
