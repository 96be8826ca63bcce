from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    CROWD_PATTERNS,
    LATENCY_PATTERNS,
    PAIR_PATTERNS,
    PATTERNS,
    words_of,
)


def test_the_catalogue_has_every_pattern_whose_name_mpi_does_not_give() -> None:
    assert set(PATTERNS) == {*PAIR_PATTERNS, *CROWD_PATTERNS}


def test_a_collective_is_called_as_mpi_spells_it() -> None:
    assert {words_of(one).title for one in COLLECTIVE_PATTERNS} >= {"MPI_Allreduce", "MPI_Ibcast"}
    assert words_of("allreduce").quantity == "time"


def test_latencies_are_times_and_streams_are_bandwidths() -> None:
    assert {one.quantity for one in PATTERNS.values() if one.pattern in LATENCY_PATTERNS} == {
        "time"
    }
    streams = [one for one in PATTERNS.values() if one.pattern.endswith("bandwidth")]
    assert {one.quantity for one in streams} == {"bandwidth"}


def test_only_bandwidth_of_both_directions_is_a_sum() -> None:
    assert [one.pattern for one in PATTERNS.values() if one.summed] == ["bidirectional_bandwidth"]
    assert PATTERNS["ping_ping"].directions == 2
