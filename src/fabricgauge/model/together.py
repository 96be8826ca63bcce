"""What cases of many ranks record beyond a pair's: the clock, each rank's part, the rounds."""

from typing import Annotated, Literal

import msgspec

#: A rank's number, or how many there are. A record in which one lies outside is refused as damaged:
#: tables are made as large as it says. The largest machines have some 10 million cores.
Rank = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]


class ConcurrentResult(msgspec.Struct, frozen=True):
    """What a case of many ranks adds to its record.

    ``clock`` says what an iteration's time is taken by: ``synchronised`` is the last exit minus
    the first start on one clock that is right within ``clock_error_s``; ``barrier`` is the
    slowest rank's own time after a barrier, biased by the barrier's exit; ``origin`` is each
    measuring rank's own clock. ``late_starts`` counts iterations that some rank began after the
    agreed moment; they are left out of the times. ``rank_medians_s`` are the ranks' own medians,
    in rank order, of the ranks that measured. ``overlap`` is the share of a non-blocking
    operation's time that computing hid, 0 to 1; None for the others, and ``compute_s`` the
    computing beside it. ``messages_per_s`` is the sum over pairs where messages are counted,
    ``load_bytes_per_s`` what the loading ranks sent meanwhile, in sum; 0 elsewhere.
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
    for each direction). ``one_way_ps`` is, per latency entry, by how much the way from origin to
    target took longer than the way back, halved; empty when no synchronised clock was there,
    else right within ``clock_error_s``. Times are whole picoseconds; ``quartile_ps`` is the
    interquartile range of the samples.
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
