"""Plain tables, and a line that says what they were measured on."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned to the right below their heads."""
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (heads, *rows)
    )


def heading(title: str, what: str) -> str:
    """A title, what is compared and how often, and the machine."""
    return f"\n{title}\n{'=' * len(title)}\n{what}\nMachine: {machine()}\n"


def machine() -> str:
    """Processor, number of processors that this program may use, kernel, and load."""
    processors = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return (
        f"{processors} processors, {_processor()}, Linux {platform.release()}, "
        f"Python {platform.python_version()}, load before the start {load:.2f}"
    )


def bytes_text(size_bytes: int) -> str:
    """``64 KiB``: a size in the largest unit that keeps it whole."""
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} B"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()
