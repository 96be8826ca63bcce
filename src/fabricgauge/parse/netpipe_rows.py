"""What a ``Mbps`` is in a NetPIPE output: asked of each row by size, time and rate.

The rows of NetPIPE: on the console and in its files, of version 3 and of version 5.

Formats after netpipe.c of 3.7.1 and of 5.x. Version 3 prints the least time of its trials,
version 5 the mean; both print half of a round trip. Version 5 prints sizes from 1 MB on
with three digits behind the point only.
"""

import re
from collections.abc import Sequence

import msgspec

from fabricgauge.parse.lines import figure_of

_SIZE = r"(?P<size>\d[\d.]{0,15}) *(?P<size_unit>bytes|[KMGT]?B)"
_TIMES = r"(?P<repeats>\d{1,12}) times -->"
_FIGURE = (
    r"(?P<rate>[-+.\w]+) *(?P<rate_unit>[KMGT]?bps) +in +"
    r"(?P<time>[-+.\w]+) *(?P<time_unit>[num]?secs?)\b"
)
_CONSOLE = re.compile(rf"^ *(?P<index>\d{{1,6}}): +{_SIZE} +{_TIMES} *(?P<figure>.*)$")
_FIGURES = re.compile(rf"^{_FIGURE}")

#: np.out of version 3: ``%8d %lf %12.8lf``, of version 5: ``%9d`` and four times ``%9.3lf``.
_FILE_3 = r"^ {0,7}\d{1,10} \d+\.\d{6} +\d+\.\d{8} *$"
_FILE_5 = r"^ {0,8}\d{1,10}(?: +\d+\.\d{3}){3} +\d+\.\d{2} *$"
_IS_FILE_3, _IS_FILE_5 = re.compile(_FILE_3), re.compile(_FILE_5)

BEGINS = {
    " times -->": r"^ *\d{1,6}: +\d[\d.]* *(?:bytes|[KMGT]?B) +\d+ times -->",
    "Now starting the main loop": r"^Now starting the main loop\s*$",
    "ing output to ": r"^(?:Send|Sav)ing output to \S+\s*$",
    "Start testing with ": r"^Start testing with \d+ trials for each message size",
    "Send and receive buffers are ": r"^Send and receive buffers are \d+ and \d+ bytes",
    "Using no perturbations": r"^Using no perturbations\s*$",
    ".": f"{_FILE_3}|{_FILE_5}",
}

_SECONDS = {"sec": 1.0, "secs": 1.0, "msecs": 1e-3, "usec": 1e-6, "usecs": 1e-6, "nsecs": 1e-9}
#: Printed bit rates in units of ``Mbps``, whatever a ``Mbps`` is.
_MEGA = {"bps": 1e-6, "Kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3, "Tbps": 1e6}
_BYTES = {"bytes": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}


class NetPipeRow(msgspec.Struct, frozen=True):
    """One message size: ``mbps`` as printed, ``time_s`` in seconds.

    ``time_step_s`` and ``rate_step`` are the last printed digits' worth. Figures may be
    anything that a float can be; both are None in a row that stops before them.
    """

    index: int
    message_bytes: int
    repeats: int
    mbps: float | None
    time_s: float | None
    time_step_s: float = 0.0
    rate_step: float = 0.0
    form: str = "3"
    passed: bool = False


def console_row(text: str) -> NetPipeRow | None:
    """A row as printed on the console."""
    match = _CONSOLE.match(text) if "times" in text else None
    if match is None:
        return None
    form = "3" if match["size_unit"] == "bytes" else "5"
    size = _size(match["size"], _BYTES[match["size_unit"]])
    bare = NetPipeRow(int(match["index"]), size, int(match["repeats"]), None, None, form=form)
    figures = _FIGURES.match(match["figure"])
    if figures is None or figures["time_unit"] not in _SECONDS:
        checked = "Integrity check passed" in text or re.search(r"\b0 failures", text)
        return msgspec.structs.replace(bare, passed=bool(checked))
    return _with_figures(bare, figures)


def file_row(text: str) -> NetPipeRow | None:
    """A row of a file that NetPIPE wrote."""
    if _IS_FILE_3.match(text):
        size, mbps, time = text.split()
        return NetPipeRow(-1, int(size), 0, float(mbps), float(time), 1e-8, 1e-6)
    if _IS_FILE_5.match(text):
        size, gbps, _least, _most, time = text.split()
        return NetPipeRow(-1, int(size), 0, float(gbps) * 1e3, float(time) * 1e-6, 1e-8, 1.0, "5")
    return None


def _with_figures(bare: NetPipeRow, figures: "re.Match[str]") -> NetPipeRow:
    scale, seconds = _MEGA[figures["rate_unit"]], _SECONDS[figures["time_unit"]]
    return msgspec.structs.replace(
        bare,
        mbps=figure_of(figures["rate"]) * scale,
        time_s=figure_of(figures["time"]) * seconds,
        time_step_s=_step(figures["time"]) * seconds,
        rate_step=_step(figures["rate"]) * scale,
    )


def _step(text: str) -> float:
    return 10.0 ** -min(len(text.partition(".")[2]), 12)


def _size(text: str, unit: int) -> int:
    """The size meant: of rounded ones the power of two, or three times one, that fits."""
    try:
        printed = float(text) * unit
    except ValueError:
        return 0
    if "." not in text or unit <= 1000:
        return round(printed)
    half_step = _step(text) * unit / 2
    for power in (1 << max(0, int(printed).bit_length() - 1), 1 << int(printed).bit_length()):
        for meant in (power, power * 3 // 4):
            if abs(meant - printed) <= half_step:
                return meant
    return round(printed)


_RULES = {2**20: "Mbps = 2^20 bit/s", 10**6: "Mbps = 10^6 bit/s"}


class MbpsRule(msgspec.Struct, frozen=True):
    """Bit/s in one ``Mbps``, and the words for it."""

    bits: int
    text: str


def rule_of(rows: Sequence[NetPipeRow], directions: int, form: str) -> MbpsRule:
    """The factor that more rows agree with; version 3 counts 2^20, version 5 10^6.

    A row decides only if its printed digits leave one of the two.
    """
    votes = dict.fromkeys(_RULES, 0)
    for row in rows:
        fits = [bits for bits in _RULES if _fits(row, directions, bits)]
        if len(fits) == 1:
            votes[fits[0]] += 1
    usual = 2**20 if form == "3" else 10**6
    other = 10**6 if form == "3" else 2**20
    bits = other if votes[other] > votes[usual] else usual
    asked = f"size / time agrees in {votes[bits]} of {sum(votes.values())} rows that tell"
    told = asked if sum(votes.values()) else "as its source has it; no row is exact enough to tell"
    return MbpsRule(bits, f"{_RULES[bits]} (NetPIPE {form}; {told})")


def _fits(row: NetPipeRow, directions: int, bits: int) -> bool:
    if not row.mbps or not row.time_s or row.time_s <= row.time_step_s:
        return False
    moved = 8.0 * row.message_bytes * directions
    half_time, half_rate = row.time_step_s / 2, row.rate_step / 2
    least = moved / (row.time_s + half_time) / bits - half_rate
    most = moved / (row.time_s - half_time) / bits + half_rate
    return least * (1 - 1e-9) <= row.mbps <= most * (1 + 1e-9)
