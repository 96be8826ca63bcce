"""How to tell that a table was cut off."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from fabricgauge.parse.imb.benchmarks import Benchmark
from fabricgauge.parse.imb.evidence import evidence_of
from fabricgauge.parse.imb.heading import Output
from fabricgauge.parse.imb.megabyte import BINARY, DECIMAL
from fabricgauge.parse.imb.rows import Row

#: What follows a table: more of the same run; other text, in a document; nothing at all.
Ending = Literal["went on", "left", "stopped"]

#: Of all figures but message rates (IMB_edit_format of IMB_output.c).
_DECIMALS = 2


class Ran(msgspec.Struct, frozen=True):
    """The rows that a table, or one group of it, has in the end."""

    sizes: Sequence[int | None]
    last_failed: bool
    torn_line: int | None


def sign_of_end(output: Output, benchmark: Benchmark, ending: Ending, ran: Ran) -> str:
    """The sign that a table was cut off, empty if there is none."""
    if ran.torn_line is not None:
        return f"line {ran.torn_line} ends in the middle of its row"
    if not ran.sizes:
        return "no row follows the headline"
    last = max((size for size in ran.sizes if size is not None), default=None)
    # IMB goes no further in a benchmark after a time-out or where memory does not suffice.
    if last is None or ran.last_failed or benchmark.one_size:
        return ""
    if output.own_sizes or output.part == "MT":
        own = output.own_sizes and ending == "stopped"
        return "the output ends here, without IMB's last line" if own else ""
    return _too_small(last, output)


def _too_small(last: int, output: Output) -> str:
    wanted = output.default_bytes if output.last_bytes is None else output.last_bytes
    if last >= wanted:
        return ""
    if output.last_bytes is not None:
        return f"ends at {last} bytes, where the output's head announces {wanted}"
    return (
        f"ends at {last} bytes, where the suite's default goes on to {wanted}: "
        "cut off, or run with a smaller maximum"
    )


def is_short(rows: Sequence[Row], benchmark: Benchmark, part: str) -> bool:
    """Whether the last row looks as if its last number lacks digits."""
    last = rows[-1]
    role, word = list(last.words.items())[-1] if last.trouble is None else ("unknown", "")
    if role == "unknown" or not word.lstrip("+-")[:1].isdecimal():
        return False
    if role != "rate":
        before = rows[-2].words.get(role, "") if len(rows) > 1 else ""
        return _decimals(word) < (_decimals(before) if before else _DECIMALS)
    found = evidence_of(last, benchmark, part)
    return found is not None and not found.allows(DECIMAL) and not found.allows(BINARY)


def _decimals(word: str) -> int:
    return len(word.partition(".")[2])
