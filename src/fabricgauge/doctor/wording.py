"""Figures as findings give them: always with their unit."""

from collections.abc import Sequence


def link_rate(bit_per_s: float) -> str:
    """A link's rate: ``100 Mb/s``, ``2.5 Gb/s``."""
    if bit_per_s >= 0.9995e9:  # 1 Gb/s that was rounded down
        return f"{bit_per_s / 1e9:.4g} Gb/s"
    return f"{bit_per_s / 1e6:.4g} Mb/s"


def duration(time_s: float) -> str:
    """A time: ``12.1 µs``, ``35.6 ms``, ``2.5 s``."""
    for unit_s, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if time_s >= unit_s:
            return f"{time_s / unit_s:.3g} {unit}"
    return f"{time_s * 1e6:.3g} µs"


def amount(count_bytes: float) -> str:
    """An amount of memory: ``64 KiB``, ``1.5 GiB``, ``unlimited``."""
    if count_bytes == float("inf"):
        return "unlimited"
    for factor, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count_bytes >= factor:
            return f"{count_bytes / factor:.4g} {unit}"
    return f"{count_bytes:.0f} B"


def listed(words: Sequence[str], at_most: int = 6) -> str:
    """``a, b and c``; what exceeds ``at_most`` is counted."""
    shown = list(words[:at_most])
    if len(words) > at_most:
        shown.append(f"{len(words) - at_most:,} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
