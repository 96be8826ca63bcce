"""What a ``Mbps`` is in a NetPIPE output: asked of each row by size, time and rate."""

from collections.abc import Sequence

import msgspec

from fabricgauge.parse.netpipe.rows import Row

_RULES = {2**20: "Mbps = 2^20 bit/s", 10**6: "Mbps = 10^6 bit/s"}


class Rule(msgspec.Struct, frozen=True):
    """Bit/s in one ``Mbps``, and the words for it."""

    bits: int
    text: str


def rule_of(rows: Sequence[Row], directions: int, form: str) -> Rule:
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
    return Rule(bits, f"{_RULES[bits]} (NetPIPE {form}; {told})")


def _fits(row: Row, directions: int, bits: int) -> bool:
    if not row.mbps or not row.time_s or row.time_s <= row.time_step_s:
        return False
    moved = 8.0 * row.message_bytes * directions
    half_time, half_rate = row.time_step_s / 2, row.rate_step / 2
    least = moved / (row.time_s + half_time) / bits - half_rate
    most = moved / (row.time_s - half_time) / bits + half_rate
    return least * (1 - 1e-9) <= row.mbps <= most * (1 + 1e-9)
