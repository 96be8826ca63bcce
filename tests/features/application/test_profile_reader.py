"""The profiling library's blobs, made by hand, whole and broken."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.application.profile_reader import (
    _CELL,
    _HEADER,
    _HEADERS,
    _PEER,
    _SITE,
    profiles_of,
)
from fabricgauge.model.errors import CannotRun

NAMES = b"Send PointToPoint\nAllreduce Collective\nAlltoall Collective\nGet OneSided\n"


def key(call: int, size: int | None, side: int, ranks: int, region: int = 0) -> int:
    bucket = 63 if size is None else size.bit_length()
    return 1 << 63 | region << 48 | call << 40 | bucket << 34 | side << 32 | ranks


def blob(
    rank: int, cells: list[tuple[int, int, int, int]], peers: list[tuple[int, int, int]] = [],  # noqa: B006
    *, size: int = 2, ending: int = 1, room: int = 0, names: bytes = NAMES,
    sites: list[tuple[int, int, int, int, int, bytes, bytes]] = [], without_site: int = 0,  # noqa: B006
) -> bytes:  # fmt: skip
    header = np.zeros(1, _HEADER)
    header[0] = (
        b"FGPROF2\n", rank, size, rank // 2 * 2, ending, room or len(cells), len(peers), len(names),
        1, 1_700_000_000_000_000_000, 2_000_000_000, 60_000, 0, len(sites), 0, without_site,
        b"c1", b"MPICH 5", b"app",
    )  # fmt: skip
    held = np.zeros(room or len(cells), _CELL)
    held[: len(cells)] = np.array(cells, _CELL)
    held_sites = np.array(sites, _SITE)
    return (
        header.tobytes() + held.tobytes() + held_sites.tobytes()
        + np.array(peers, _PEER).tobytes() + names
    )  # fmt: skip


SEND, GET = 0, 3  # their places in NAMES


def site(call: int, address: int, calls: int, moved: int, function: bytes) -> tuple[int, ...]:
    """A site whose memory address differs by rank, as its offset in the file does not."""
    key = (0x7F00_0000_0000 + 4096 * calls + address) << 8 | call
    return (key, calls, moved, 1000 * calls, address, b"/opt/app", function)  # type: ignore[return-value]


def test_a_site_of_several_ranks_is_one_by_its_place_in_the_file() -> None:
    cells = [(key(0, 100, 2, 2), 1, 100, 1)]
    content = b"".join(
        blob(rank, cells, names=NAMES * (not rank), sites=sites)  # type: ignore[arg-type]
        for rank, sites in enumerate([
            [site(SEND, 0x1200, 3, 300, b"solve+0x10"), site(SEND, 0x1300, 1, 100, b"")],
            [site(SEND, 0x1200, 2, 200, b"solve+0x10"), site(GET, 0x1400, 9, 900, b"solve+0x90")],
        ])
    )  # fmt: skip
    (found,) = profiles_of([content])
    rows = [(one.call, one.site, one.calls, one.bytes, one.mean_bytes) for one in found.sites]
    assert rows == [("Send", "solve+0x10", 5, 500, 100), ("Send", "+0x1300", 1, 100, 100)]
    assert [one.sent_share for one in found.sites] == [pytest.approx(5 / 6), pytest.approx(1 / 6)]
    assert (found.sites[0].path, found.sites[0].address) == ("/opt/app", 0x1200)
    assert found.sites[0].time_s == pytest.approx(5e-6)
    assert found.notes == ()


def test_calls_whose_site_found_no_room_are_counted() -> None:
    (found,) = profiles_of([blob(0, [(key(0, 8, 1, 2), 9, 72, 1)], size=1, without_site=7)])
    assert "7 calls" in found.notes[0]


def test_a_profile_of_the_first_version_has_no_sites() -> None:
    new = np.frombuffer(blob(0, []), _HEADER, 1)[0]
    old = np.zeros(1, _HEADERS[b"FGPROF1"])
    for name in old.dtype.names or ():
        old[name] = new[name]
    cell = np.array([(key(0, 100, 2, 2), 3, 300, 1000)], _CELL)
    old["format"], old["cells"] = b"FGPROF1\n", 1
    (found,) = profiles_of([old.tobytes() + cell.tobytes() + NAMES])
    assert ([one.calls for one in found.mix], found.sites) == ([3], ())


def test_cells_of_all_ranks_are_summed() -> None:
    same = key(0, 100, 2, 2)
    content = blob(0, [(same, 3, 300, 1000)], [(1, 3, 300)]) + blob(
        1, [(same, 2, 200, 500)], names=b""
    )
    (found,) = profiles_of([content])
    (send,) = found.mix
    assert (send.call, send.calls, send.bytes, send.least_bytes) == ("Send", 5, 500, 64)
    assert send.side == "other nodes"
    assert send.time_s == pytest.approx(1500e-9)
    assert (found.size, found.complete, found.program) == (2, True, "app")
    assert [(one.origin, one.target, one.bytes) for one in found.peers] == [(0, 1, 300)]
    assert found.overhead_s == pytest.approx(60e-9)


@pytest.mark.parametrize(
    ("size", "least"), [(None, None), (0, 0), (1, 1), (2, 2), (3, 2), (4, 4), (4097, 4096)]
)
def test_a_size_is_in_the_class_of_the_power_of_two_below(
    size: int | None, least: int | None
) -> None:
    (found,) = profiles_of([blob(0, [(key(0, size, 1, 2), 1, 0, 1)], size=1)])
    assert found.mix[0].least_bytes == least


def test_what_must_leave_a_node_counts_no_more_than_that() -> None:
    """Four ranks on two nodes: of an alltoall half leaves; of an allreduce a node's one sum."""
    cells = [
        (key(0, 8, 2, 4), 1, 8, 1),  # a message to another node
        (key(0, 8, 1, 4), 1, 16, 1),  # one on the same
        (key(1, 100, 2, 4), 1, 100, 1),
        (key(2, 10, 2, 4), 1, 40, 1),
        (key(3, 8, 2, 4), 1, 1000, 1),  # what is got was sent by another
    ]
    content = b"".join(blob(rank, cells, size=4, names=NAMES * (not rank)) for rank in range(4))
    (found,) = profiles_of([content])
    assert [one.left_node_bytes for one in found.ranks] == [8 + 50 + 20] * 4
    assert [one.sent_bytes for one in found.ranks] == [24] * 4


def test_a_small_communicator_of_large_nodes_claims_no_less_than_nothing() -> None:
    """Both ranks of a node, in an alltoall of two ranks that spans nodes: half of it leaves."""
    cells = [(key(2, 10, 2, 2), 1, 20, 1)]
    content = b"".join(blob(rank, cells, size=2, names=NAMES * (not rank)) for rank in range(2))
    (found,) = profiles_of([content])
    assert [one.left_node_bytes for one in found.ranks] == [10, 10]


def test_ranks_own_files_of_a_broken_run_are_one_profile() -> None:
    cells = [(key(0, 8, 1, 2), 1, 8, 1)]
    files = [blob(rank, cells, ending=2 * rank, room=4096) for rank in (1, 0)]
    (found,) = profiles_of(files)
    assert [one.rank for one in found.ranks] == [0, 1]
    assert [one.ending for one in found.ranks] == ["lost", "aborted"]
    assert not found.complete


def test_several_programs_are_told_apart_the_busiest_first() -> None:
    few, many = [(key(0, 8, 1, 2), 1, 8, 1)], [(key(0, 8, 1, 2), 9, 8, 1)]
    found = profiles_of([blob(0, few, size=1), blob(0, many, size=1)])
    assert [one.ranks[0].calls for one in found] == [9, 1]


def test_a_cut_off_file_is_refused() -> None:
    whole = blob(0, [(key(0, 8, 1, 2), 1, 8, 1)], size=1)
    for end in (10, 200, len(whole) - len(NAMES) - 5, len(whole) - 1):
        with pytest.raises(CannotRun, match="cut off"):
            profiles_of([whole[:end]])


def test_a_foreign_file_is_refused() -> None:
    with pytest.raises(CannotRun, match="no profile"):
        profiles_of([b"x" * 400])


@given(st.binary(max_size=600), st.integers(0, 1200))
def test_damage_never_raises_anything_else(damage: bytes, place: int) -> None:
    sites = [site(SEND, 0x1200, 1, 8, b"solve+0x10")] * 2
    whole = blob(0, [(key(0, 8, 1, 2), 1, 8, 1)] * 3, [(1, 1, 1)], sites=sites)  # type: ignore[arg-type]
    with suppress(CannotRun):
        profiles_of([whole[:place] + damage + whole[place + len(damage) :]])
