"""Additional records of cases of many ranks: the clock, each rank's times, the rounds."""

from typing import Annotated, Literal

import msgspec

#: A rank's number, or a number of ranks; it sets the size of tables. A record with a larger one is
#: rejected as damaged. The largest machines have some 10 million cores.
Rank = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]


class ConcurrentResult(msgspec.Struct, frozen=True):
    """Additional values in the record of a case of many ranks.

    ``clock`` is the source of an iteration's time: ``synchronised`` is the last exit minus the
    first start on one clock that is right within ``clock_error_s``; ``barrier`` is the slowest
    rank's time after a barrier, biased by the barrier's exit; ``origin`` is the clock of each
    measuring rank. ``late_starts`` counts iterations that some rank began after the agreed moment;
    the times exclude them. ``rank_medians_s`` are the medians of the measuring ranks, in rank
    order. ``overlap`` is the share of a non-blocking operation's time that computation hid, 0 to 1,
    None for other operations; ``compute_s`` is the time of that computation. ``messages_per_s`` is
    the sum over pairs if messages are counted, ``load_bytes_per_s`` the sum of the rates that the
    loading ranks sent; otherwise 0.
    """

    ranks: Rank
    pairs: Rank
    clock: Literal["synchronised", "barrier", "origin"]
    clock_error_s: float
    late_starts: int
    rank_medians_s: tuple[float, ...]
    overlap: float | None = None
    compute_s: float = 0.0
    messages_per_s: float = 0.0
    load_bytes_per_s: float = 0.0


class Round(msgspec.Struct, frozen=True, tag_field="record", tag="round"):
    """One round of a round robin: disjoint pairs of ranks, by parallel arrays.

    A time is a half round trip of ``all_pairs_latency`` (one entry for each pair, origin is
    the lower rank), or one window of ``all_pairs_bandwidth`` from origin to target (an entry
    for each direction). ``one_way_ps`` is, per latency entry, half the time from origin to target
    minus the time back, right within ``clock_error_s``; empty without a synchronised clock. Times
    are whole picoseconds; ``quartile_ps`` is the interquartile range of the samples.
    """

    case: str
    round: int
    rounds: int
    message_bytes: int
    window: int
    origins: tuple[Rank, ...]
    targets: tuple[Rank, ...]
    samples: tuple[int, ...]
    minimum_ps: tuple[int, ...]
    median_ps: tuple[int, ...]
    quartile_ps: tuple[int, ...]
    wall_s: float
    one_way_ps: tuple[int, ...] = ()
    clock_error_s: float = 0.0
