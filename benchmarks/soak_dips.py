"""Dips that a soak of a lab names, beside the toggles of a link's rate that were planted.

    python -m benchmarks.soak_dips [--seconds 600] [--every 10] [--quiet-minutes 30]

The link out of c1 carries 300 Mb/s instead of 1 Gb/s for 200 ms, again and again. Each toggle is
compared with the network's dips that the soak printed. Needs a machine without other work: beside
load the answer is INCONCLUSIVE, and no toggle is named.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.tables import heading, table

from fabricgauge.features.soak.soaking import DIPS, SOAKED
from fabricgauge.lab.faults import heal, inject
from fabricgauge.lab.state import LabFault, load

LAB, NETWORK, NODE, RATE_BIT_S, TOGGLE_S = "soak-dips", "net1", "c1", 300e6, 0.2
#: A dip belongs to a toggle if it begins at most so long before or after it.
NEAR_S = 0.3
PROGRAM = (sys.executable, "-m", "fabricgauge")


def main(words: Sequence[str] | None = None) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=float, default=10.0)
    parser.add_argument("--quiet-minutes", type=float, default=0.0)
    options = parser.parse_args(words)
    print(heading("Dips of a soak", f"{RATE_BIT_S / 1e6:.0f} Mb/s for {TOGGLE_S:g} s each time"))
    with tempfile.TemporaryDirectory() as folder, _lab():
        if options.quiet_minutes:
            _soak(Path(folder) / "quiet", options.quiet_minutes * 60, 0.0)
        _soak(Path(folder) / "toggled", options.seconds, options.every)


@contextmanager
def _lab() -> Iterator[None]:
    try:
        subprocess.run([*PROGRAM, "lab", "up", LAB, "--network", f"{NETWORK}:1G"], check=True)
        yield
    finally:
        subprocess.run([*PROGRAM, "lab", "down", LAB], check=True)


def _soak(root: Path, seconds: float, every_s: float) -> None:
    """Soak the lab; print its answer, its memory, and each toggle with the dips beside it."""
    root.mkdir()
    words = "check", "--lab", LAB, "--soak", f"{seconds:g}s", "-o", str(root / "runs")
    with (root / "out").open("w") as out, (root / "err").open("w") as err, ExitStack() as stack:
        child = subprocess.Popen([*PROGRAM, *words], stdout=out, stderr=err)
        stack.callback(child.wait)
        stack.callback(child.terminate)
        while "soaking" not in (root / "err").read_text() and child.poll() is None:
            time.sleep(0.1)
        began_s = time.time()
        toggles = list[tuple[float, float]]()
        memory = [_resident_mb(child.pid)]
        while child.poll() is None:
            time.sleep(1.0)
            due = began_s + (len(toggles) + 1) * every_s
            if every_s and due <= time.time() < began_s + seconds - 5:
                toggles.append(_toggle())
            if child.poll() is None:
                memory.append(_resident_mb(child.pid))
    print((root / "out").read_text().splitlines()[0].strip())
    (run,) = (root / "runs").iterdir()
    soaked = json.loads((run / SOAKED).read_text())
    counts = [f"{way['origin']} {len(way['dips'])}" for way in soaked["directions"]]
    sizes = ", ".join(f"{memory[place]:.1f}" for place in (0, len(memory) // 2, -1))
    print(f"{seconds:.0f} s; status {child.returncode}; dips from {', '.join(counts)};"
          f" memory {sizes} MB")  # fmt: skip
    lines = (run / DIPS).read_text().splitlines() if (run / DIPS).exists() else []
    dips = [dip for dip in map(json.loads, lines) if dip["source"] == "network"]
    rows = []
    for start_s, end_s in toggles:
        near = [dip for dip in dips if start_s - NEAR_S <= dip["at_s"] <= end_s + NEAR_S]
        named = [f"{dip['origin']} to {dip['target']} +{dip['at_s'] - start_s:.2f} s for"
                 f" {dip['length_s']:.2f} s" for dip in near]  # fmt: skip
        rows.append((f"{start_s - began_s:.1f}", f"{end_s - start_s:.2f}", "; ".join(named)))
    if toggles:
        print(table(("toggle at s", "for s", "dips of the network"), rows))
        print(f"{sum(bool(row[2]) for row in rows)} of {len(rows)} toggles named")


def _toggle() -> tuple[float, float]:
    """Lower the rate for a moment; return the times of begin and end."""
    start_s = time.time()
    state = inject(load(LAB), LabFault("rate-out", NODE, NETWORK, RATE_BIT_S))
    time.sleep(max(0.0, TOGGLE_S - (time.time() - start_s)))
    heal(state)
    return start_s, time.time()


def _resident_mb(pid: int) -> float:
    """Return the resident memory of a process, 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1e3
    except (OSError, IndexError, ValueError):
        return 0.0


if __name__ == "__main__":
    main()
