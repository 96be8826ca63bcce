"""Figures as the verdicts' sentences give them: always with their unit.

MB is 10^6 bytes; KiB and MiB are 2^10 and 2^20 and are used for message sizes only.
"""

import shlex
from collections.abc import Iterable, Sequence

from fabricgauge.model.measurement import Pattern
from fabricgauge.model.run import Run

#: What each pattern does, as a reader would say it.
PATTERNS: dict[Pattern, str] = {
    "latency": "half round trip",
    "bandwidth": "one-way stream",
    "bidirectional_bandwidth": "stream in both directions at once",
    "put_latency": "MPI_Put with its flush",
    "put_bandwidth": "MPI_Put stream",
    "ping_ping": "both ends send at once",
    "get_latency": "MPI_Get with its completion",
    "get_bandwidth": "MPI_Get stream, towards the origin",
    "accumulate_latency": "MPI_Accumulate with its completion",
    "fetch_and_op_latency": "MPI_Fetch_and_op with its completion",
    "compare_and_swap_latency": "MPI_Compare_and_swap with its completion",
    "persistent_latency": "half round trip of persistent requests",
    "persistent_bandwidth": "one-way stream of persistent requests",
    "threads_latency": "half round trip of one of several threads",
    "threads_bandwidth": "one-way stream of several threads",
}

_BINARY = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def resume(run: Run) -> str:
    """The command that measures what a run has left: its own verb's."""
    verb = "submit" if run.command[1:2] == ("submit",) else "check"
    return f"fabricgauge {verb} --resume RUN"


def size(message_bytes: int) -> str:
    """A message size, exact: ``8 B``, ``64 KiB``, ``1 MiB``."""
    for unit_bytes, unit in _BINARY:
        if message_bytes >= unit_bytes and message_bytes % unit_bytes == 0:
            return f"{message_bytes // unit_bytes} {unit}"
    return f"{message_bytes} B"


def at(message_bytes: int, sized: bool = True) -> str:
    """``at 64 KiB``; ``sized`` is false for headlines and byte streams."""
    return f"at {size(message_bytes)}" if sized else "with no message size told"


def rate(bytes_per_s: float) -> str:
    """A payload rate: ``117.51 MB/s``."""
    return f"{bytes_per_s / 1e6:,.2f} MB/s"


def link_rate(bit_per_s: float) -> str:
    """A link's rate: ``100 Mb/s``, ``2.5 Gb/s``."""
    if bit_per_s >= 1e9:
        return f"{bit_per_s / 1e9:.4g} Gb/s"
    return f"{bit_per_s / 1e6:.4g} Mb/s"


def counted(count: int, thing: str) -> str:
    """``1 dip``, ``3 dips``, ``1,234 lines``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def amount(count_bytes: float) -> str:
    """An amount of traffic: ``1.05 GB``, ``640 B``."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count_bytes >= factor:
            return f"{count_bytes / factor:.2f} {unit}"
    return f"{count_bytes:.0f} B"


def duration(time_s: float) -> str:
    """A time: ``12.1 µs``, ``35.6 ms``."""
    for unit_s, unit in _TIMES:
        if time_s >= unit_s:
            return f"{time_s / unit_s:.3g} {unit}"
    return f"{time_s:.3g} s"


def percent(share: float) -> str:
    """A share: ``99.8 %``; what is not quite all of it never reads ``100.0 %``."""
    text = f"{share * 100:.1f}"
    if text == "100.0" and share != 1:
        text = f"{share * 100:.2f}"
    return f"{'> 99.99' if text == '100.00' and share < 1 else text} %"


def direction(origin: str, target: str) -> str:
    return f"{origin} → {target}"


def listed(words: Sequence[str], at_most: int = 6) -> str:
    """``a, b and c``; what exceeds ``at_most`` is counted."""
    shown = list(words[:at_most])
    if len(words) > at_most:
        shown.append(f"{len(words) - at_most} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def command(argv: Iterable[str]) -> str:
    """A command as a person may paste it; every name in it is quoted where need be."""
    return shlex.join(argv)
