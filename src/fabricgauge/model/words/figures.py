"""Print figures as people read them: SI rates, binary message sizes, microseconds.

MB is 10^6 bytes, KiB and MiB are 2^10 and 2^20. A figure has its unit, except where the function's
name gives the unit. Verdicts, findings and reports all print figures by these.
"""

from fabricgauge.model.estimate import Estimate

_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def size(length_bytes: int) -> str:
    """Return a message size, always exact: ``0 B``, ``8 B``, ``1500 B``, ``4 KiB``."""
    for unit_bytes, unit in _BINARY:
        if length_bytes >= unit_bytes and length_bytes % unit_bytes == 0:
            return f"{length_bytes // unit_bytes} {unit}"
    return f"{length_bytes} B"


def at(message_bytes: int, sized: bool = True) -> str:
    """Return ``at 64 KiB``; ``sized`` is false for headlines and byte streams."""
    return f"at {size(message_bytes)}" if sized else "at an unknown message size"


def memory(length_bytes: float) -> str:
    """Return an amount of memory: ``64 KiB``, ``1.5 GiB``, ``unlimited``."""
    if length_bytes == float("inf"):
        return "unlimited"
    for unit_bytes, unit in _BINARY:
        if length_bytes >= unit_bytes:
            return f"{_trimmed(length_bytes / unit_bytes)} {unit}"
    return f"{length_bytes:.0f} B"


def digits(value: float, significant: int = 4) -> str:
    """Return a number with at least ``significant`` digits; whole digits are never dropped."""
    if value == 0 or value != value or value in (float("inf"), float("-inf")):
        return "0" if value == 0 else str(value)
    scientific = f"{value:.{significant - 1}e}"
    decimals = significant - 1 - int(scientific.split("e")[1])
    return f"{value:,.{min(max(decimals, 0), 12)}f}"


def times(ratio: float) -> str:
    """Return a factor with three significant digits: ``2.5``, ``23``, ``100,000``."""
    return f"{float(f'{ratio:.3g}'):,.12g}"


def microseconds(time_s: float) -> str:
    """Return a time in µs, without the unit: ``12.14``, ``35,636``."""
    return digits(time_s * 1e6)


def megabytes_per_s(rate_bytes_s: float) -> str:
    """Return a rate in MB/s (10^6 bytes/s), without the unit: ``0.6602``, ``117.69``."""
    return digits(rate_bytes_s / 1e6, 5 if rate_bytes_s >= 1e8 else 4)


def rate(rate_bytes_s: float) -> str:
    """Return a payload rate: ``117.51 MB/s``."""
    return f"{megabytes_per_s(rate_bytes_s)} MB/s"


def duration(time_s: float) -> str:
    """Return a time with the unit that suits it: ``4.60 µs``, ``35.6 ms``, ``12.3 s``."""
    for unit_s, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(time_s) >= unit_s * 0.9995:
            return f"{digits(time_s / unit_s, 3)} {unit}"
    return f"{digits(time_s * 1e9, 3)} ns" if time_s else "0 s"


def link_rate(rate_bit_s: float) -> str:
    """Return a link rate: ``100 Mb/s``, ``2.5 Gb/s``."""
    return f"{_scaled(rate_bit_s)}b/s"


def gigabits_per_s(rate_bit_s: float, significant: int = 10) -> str:
    """Return a rate within a calculation, with all digits it needs: ``25.78125 Gb/s``."""
    return f"{rate_bit_s / 1e9:.{significant}g} Gb/s"


def amount(length_bytes: float) -> str:
    """Return an amount of traffic in SI units: ``0 B``, ``12.3 GB``."""
    return f"{_scaled(length_bytes)}B"


def percent(share: float) -> str:
    """Return a share in percent; a share below 1 is never printed as ``100 %``."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    for decimals in (1, 2, 3):
        text = f"{share * 100:.{decimals}f}"
        if share == 1 or float(text) != 100:
            return f"{text.removesuffix('.0') if share in (0, 1) else text} %"
    return "> 99.999 %" if share < 1 else "> 100 %"


def signed(change: float) -> str:
    """Return a change with its sign: ``+12.0 %``, ``−0.03 %``; small changes keep a digit."""
    if change != change:
        return "–"
    if change >= 0.0005:  # no share of a whole: doubled is +100.0 %
        return f"+{100 * change:.1f} %"
    sign = "+" if change > 0 else "−" if change else ""
    small = 0 < abs(change) < 0.0005
    return f"{sign}{f'{digits(100 * abs(change), 1)} %' if small else percent(abs(change))}"


def ratio(value: float) -> str:
    """Return a quotient near one: ``1.048``; the smallest ones read ``< 0.001``."""
    return "< 0.001" if 0 < value < 0.001 else digits(value)


def with_unit(value: float, unit: str) -> str:
    """Return a value with the unit that people use.

    The first word of ``unit`` decides: ``bytes/s`` becomes MB/s, ``bit/s`` Mb/s or Gb/s, ``s`` µs
    to s, ``share`` and ``1`` percent. The rest of ``unit`` ("per direction at 1 MiB") follows
    unchanged.
    """
    first, _, qualifiers = unit.partition(" ")
    figure = _UNITS[first](value) if first in _UNITS else f"{digits(value)} {first}".strip()
    return f"{figure} {qualifiers}".strip()


def half_width(estimate: Estimate) -> str:
    """Return the farther end of the interval as a share of the value: ``± 0.4 %``.

    Without an interval, return the number of samples instead: ``n = 2``.
    """
    if not estimate.supported:
        return f"n = {estimate.samples}"
    percentage = 100 * estimate.half_width
    return "± < 0.1 %" if estimate.value and percentage < 0.05 else f"± {percentage:.1f} %"


def supported_digits(estimate: Estimate, usual: int = 4) -> int:
    """Return how many significant digits the interval of a value supports, at most ``usual``."""
    if not estimate.supported or estimate.half_width < 0.01:
        return usual
    return 3 if estimate.half_width < 0.1 else 2


def share_of(estimate: Estimate, limit: float) -> str:
    """Return a value's share of a limit in percent, as exactly as its interval supports.

    A value above the limit whose interval reaches down to it is 100 %: nothing shows more.
    """
    share = estimate.value / limit
    if share > 1 and estimate.low <= limit:
        return percent(1.0)
    rounded = f"{share * 100:.0f}"
    wide = estimate.supported and estimate.half_width >= 0.02
    return f"{rounded} %" if wide and rounded not in ("0", "100") else percent(share)


def _scaled(value: float) -> str:
    for factor, prefix in _SI:
        if abs(value) >= factor * 0.99995:
            return f"{_trimmed(value / factor)} {prefix}"
    return f"{_trimmed(value)} "


def _trimmed(value: float) -> str:
    text = digits(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _counted(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else digits(value)


_UNITS = {
    "bytes/s": rate,
    "bit/s": link_rate,
    "s": duration,
    "share": percent,
    "1": percent,
    "bytes": lambda value: f"{_counted(value)} bytes",
    "": _counted,
}
