"""Read the profiling library's files, docs/development/profile-format.md: one blob per rank.

A file of all ranks has these blobs one after the other. A rank that never came to MPI_Finalize left
its own, with room for more cells; empty cells have key 0.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.application.profile_values import (
    ApplicationProfile,
    CallKind,
    CallMix,
    CallSite,
    Ending,
    PeerTraffic,
    RankProfile,
    Side,
)
from fabricgauge.model.errors import CannotRun

MAGIC = b"FGPROF"

_COUNTS = [
    ("format", "S8"), ("rank", "<u4"), ("size", "<u4"), ("node", "<u4"), ("ending", "<u4"),
    ("cells", "<u4"), ("peers", "<u4"), ("names_bytes", "<u4"), ("pid", "<u4"),
    ("started_utc_ns", "<i8"), ("wall_ns", "<i8"), ("overhead_ps", "<u8"), ("lost", "<u8"),
]  # fmt: skip
_OF_SITES = [("sites", "<u4"), ("reserved", "<u4"), ("without_site", "<u8")]
_TEXTS = [("host", "S64"), ("library", "S96"), ("program", "S96")]
_HEADER = np.dtype([*_COUNTS, *_OF_SITES, *_TEXTS])
#: Headers by format; version 1 has no sites.
_HEADERS = {b"FGPROF1": np.dtype([*_COUNTS, *_TEXTS]), b"FGPROF2": _HEADER}
_SITE = np.dtype([
    ("key", "<u8"), ("calls", "<u8"), ("bytes", "<u8"), ("time_ns", "<u8"), ("address", "<u8"),
    ("object", "S128"), ("function", "S120"),
])  # fmt: skip
_CELL = np.dtype([("key", "<u8"), ("calls", "<u8"), ("bytes", "<u8"), ("time_ns", "<u8")])
_PEER = np.dtype([("rank", "<u8"), ("messages", "<u8"), ("bytes", "<u8")])

_ENDINGS: tuple[Ending, ...] = ("lost", "finalized", "aborted")
_SIDES: tuple[Side, ...] = ("unknown", "same node", "other nodes")
_WITHOUT_SIZE = 63
#: The number of cells in a rank's own memory, full or not.
_ROOM = 4096

#: Collectives in which a rank's own part must leave its node, and how much of it. ``shared``: the
#: ranks of a node can combine their parts. Collectives with a root are left out, because its part
#: cannot be separated from the others'. Alltoallv is left out: its unequal parts may go anywhere.
_LEAVES: dict[str, str] = {
    "Allgather": "whole", "Allgatherv": "whole", "Alltoall": "whole", "Allreduce": "shared",
    "Reduce_scatter": "shared", "Reduce_scatter_block": "shared",
}  # fmt: skip

Array = NDArray[Any]


class _Blob(msgspec.Struct, frozen=True):
    header: Any
    cells: Array
    sites: Array
    peers: Array
    names: str


def profiles_of(contents: Iterable[bytes]) -> tuple[ApplicationProfile, ...]:
    """Return the profiles that files hold, the one with the most calls first.

    A command may start several programs. Ranks' own files belong together where program, number of
    ranks and minute of start agree.

    Raises:
        CannotRun: a file is not of this format, or is cut off.
    """
    by_start: dict[tuple[bytes, int, int], list[_Blob]] = defaultdict(list)
    complete: list[list[_Blob]] = []
    for content in contents:
        blobs = list(_blobs(content))
        if int(blobs[0].header["cells"]) != _ROOM:
            complete.append(blobs)
            continue
        header = blobs[0].header
        program, size = header["program"], int(header["size"])
        minute = int(header["started_utc_ns"]) // 60_000_000_000
        near = next((key for key in by_start if key[:2] == (program, size)
                     and abs(key[2] - minute) <= 1), None)  # fmt: skip
        by_start[near or (program, size, minute)] += blobs
    profiles = [_profile(blobs) for blobs in (*complete, *by_start.values())]
    return tuple(sorted(profiles, key=lambda profile: -sum(rank.calls for rank in profile.ranks)))


def _blobs(content: bytes) -> Iterable[_Blob]:
    place = 0

    def read(kind: np.dtype[Any], count: int) -> Array:
        nonlocal place
        part = _part(content, place, kind, count)
        place += part.nbytes
        return part

    while place < len(content) or not place:
        form = _HEADERS.get(content[place : place + 7])
        if form is None and place + 7 <= len(content):
            raise CannotRun("this is no profile: one begins with FGPROF1 or FGPROF2")
        header = read(form or _HEADER, 1)[0]
        cells = read(_CELL, int(header["cells"]))
        count = int(header["sites"]) if "sites" in (header.dtype.names or ()) else 0
        sites = read(_SITE, count)
        peers = read(_PEER, int(header["peers"]))
        names = read(np.dtype("S1"), int(header["names_bytes"])).tobytes()
        yield _Blob(
            header, cells[cells["key"] > 0], sites[sites["calls"] > 0],
            peers[peers["messages"] > 0], names.decode("ascii", "replace"),
        )  # fmt: skip


def _part(content: bytes, place: int, kind: np.dtype[Any], count: int) -> Array:
    if place + count * kind.itemsize > len(content):
        raise CannotRun(
            f"a profile is cut off: it has {len(content):,} bytes, and more are announced at byte"
            f" {place:,}"
        )
    return np.frombuffer(content, kind, count, place)


def _profile(blobs: Sequence[_Blob]) -> ApplicationProfile:
    first = blobs[0].header
    names = next((blob.names for blob in blobs if blob.names), "").splitlines()
    calls = [tuple(line.split(" ", 1)) for line in names]
    if not calls or not all(len(call) == 2 and call[1] in get_args(CallKind) for call in calls):
        raise CannotRun("a profile does not name its calls: its first rank's part is missing")
    nodes = Counter(int(blob.header["node"]) for blob in blobs)
    ranks = tuple(
        _rank(blob, calls, nodes[int(blob.header["node"])])
        for blob in sorted(blobs, key=lambda blob: int(blob.header["rank"]))
    )
    peers = sorted(
        (
            PeerTraffic(int(blob.header["rank"]), *map(int, row))
            for blob in blobs
            for row in blob.peers
        ),
        key=lambda traffic: (-traffic.bytes, traffic.origin, traffic.target),
    )
    return ApplicationProfile(
        program=_text(first["program"]), library=_text(first["library"]), size=int(first["size"]),
        started_utc_s=int(first["started_utc_ns"]) * 1e-9,
        overhead_s=float(np.median([int(blob.header["overhead_ps"]) for blob in blobs])) * 1e-12,
        ranks=ranks, mix=_mix(blobs, calls), peers=tuple(peers), sites=_sites(blobs, calls),
        notes=_notes(blobs),
    )  # fmt: skip


def _notes(blobs: Sequence[_Blob]) -> tuple[str, ...]:
    count = sum(
        int(blob.header["without_site"]) for blob in blobs
        if "without_site" in (blob.header.dtype.names or ())
    )  # fmt: skip
    return (f"{count:,} calls have no place among the call sites: their table was full",) * (
        count > 0
    )


def _sites(blobs: Sequence[_Blob], calls: Sequence[tuple[str, ...]]) -> tuple[CallSite, ...]:
    """Return the places that sent bytes, most bytes first; an object's places over all ranks."""
    sums: dict[tuple[str, bytes, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    functions: dict[tuple[str, bytes, int], str] = {}
    for blob in blobs:
        for row in blob.sites:
            number = int(row["key"]) & 0xFF
            if number >= len(calls):
                raise CannotRun(f"a profile has call {number} of {len(calls)}: it is damaged")
            place = (calls[number][0], bytes(row["object"]), int(row["address"]))
            for which, name in enumerate(("calls", "bytes", "time_ns")):
                sums[place][which] += int(row[name])
            functions[place] = functions.get(place) or _text(row["function"])
    sending = {place: total for place, total in sums.items() if total[1] and _sends(place[0])}
    every = sum(total[1] for total in sending.values())
    sites = (
        CallSite(
            call, functions[call, path, address] or f"+0x{address:x}", count, moved, moved / count,
            moved / every, time_ns * 1e-9, _text(path), address,
        )
        for (call, path, address), (count, moved, time_ns) in sending.items()
    )  # fmt: skip
    return tuple(sorted(sites, key=lambda site: (-site.bytes, site.call, site.site)))


def _sends(call: str) -> bool:
    """Check if a call's bytes leave its rank: what is got was sent by another."""
    return call not in ("Get", "Rget")


def _text(name: bytes) -> str:
    return " ".join(name.decode("utf-8", "replace").split())


def _fields(key: int, calls: Sequence[tuple[str, ...]]) -> Mapping[str, Any]:
    """Return the fields of a key, docs/development/profile-format.md."""
    number, bucket = key >> 40 & 0xFF, key >> 34 & 0x3F
    if number >= len(calls):
        raise CannotRun(f"a profile has call {number} of {len(calls)}: it is damaged")
    least = None if bucket == _WITHOUT_SIZE else 1 << bucket >> 1
    return {
        "call": calls[number][0], "kind": calls[number][1], "least_bytes": least,
        "side": _SIDES[min(key >> 32 & 3, 2)], "ranks": key & 0xFFFFFFFF,
        "region": key >> 48 & 0xFF,
    }  # fmt: skip


def _mix(blobs: Sequence[_Blob], calls: Sequence[tuple[str, ...]]) -> tuple[CallMix, ...]:
    cells = np.concatenate([blob.cells for blob in blobs])
    keys, places = np.unique(cells["key"], return_inverse=True)
    sums = {name: np.zeros(len(keys)) for name in ("calls", "bytes", "time_ns")}
    for name, total in sums.items():
        np.add.at(total, places, cells[name].astype(float))
    mix = (
        CallMix(**_fields(int(key), calls), calls=int(n), bytes=int(moved), time_s=ns * 1e-9)
        for key, n, moved, ns in zip(keys, *sums.values(), strict=True)
    )
    return tuple(sorted(mix, key=lambda call: (-call.time_s, call.call, call.least_bytes or 0)))


def _rank(blob: _Blob, calls: Sequence[tuple[str, ...]], node_ranks: int) -> RankProfile:
    header, sent, left_bytes = blob.header, 0, 0.0
    for cell in blob.cells:
        fields, moved = _fields(int(cell["key"]), calls), int(cell["bytes"])
        away = fields["side"] == "other nodes"
        if fields["kind"] in ("PointToPoint", "Starting", "OneSided"):
            is_sent = _sends(fields["call"])
            sent += moved * is_sent
            left_bytes += moved * (is_sent and away)
        elif (
            away
            and fields["ranks"] > 1
            and (part := _LEAVES.get(fields["call"].removeprefix("I").capitalize()))
        ):
            parts = fields["call"].endswith(
                ("all", "catter", "block")
            )  # some parts stay on the node
            share = 1 - min(node_ranks, fields["ranks"] - 1) / fields["ranks"] if parts else 1
            left_bytes += moved * share / (node_ranks if part == "shared" else 1)
    return RankProfile(
        rank=int(header["rank"]), node=int(header["node"]), host=_text(header["host"]),
        wall_s=int(header["wall_ns"]) * 1e-9, mpi_s=float(blob.cells["time_ns"].sum()) * 1e-9,
        calls=int(blob.cells["calls"].sum()), sent_bytes=sent, left_node_bytes=int(left_bytes),
        ending=_ENDINGS[min(int(header["ending"]), 2)], lost_calls=int(header["lost"]),
    )  # fmt: skip
