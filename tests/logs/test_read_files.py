"""Files that are packed, broken, missing or no text at all."""

import bz2
import gzip
import json
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricgauge.logs.read_files import read_file
from fabricgauge.logs.readers.lines import LONGEST_BYTES
from fabricgauge.model.suite import UNREADABLE, SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[1] / "fixtures"
FIXTURE = FIXTURES / "osu" / "7.4--latency-default.out"


def only_curve(path: Path) -> SuiteCurve:
    (curve,) = read_file(path, "a.out")
    assert isinstance(curve, SuiteCurve)
    return curve


def test_a_packed_file_reads_as_the_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "log"
    packed.write_bytes(gzip.compress(FIXTURE.read_bytes()))
    assert only_curve(packed) == only_curve(FIXTURE)


def test_two_packed_files_behind_each_other_are_both_read(tmp_path: Path) -> None:
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(FIXTURE.read_bytes()) * 2)
    assert len(list(read_file(packed))) == 2


@pytest.mark.parametrize("cut", [3, 12, 200, -9, -1])
def test_a_truncated_archive_keeps_what_stood_before_and_says_so(tmp_path: Path, cut: int) -> None:
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(FIXTURE.read_bytes() * 40)[:cut])
    *before, last = read_file(packed)
    assert isinstance(last, UnparsedLine)
    assert "cannot be read further" in last.reason
    assert all(isinstance(each, SuiteCurve) for each in before)
    assert bool(before) == (cut not in (3, 12))


def test_an_archive_with_a_wrong_byte_is_told_of(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(FIXTURE.read_bytes()))
    whole[-6] ^= 255
    packed = tmp_path / "log.gz"
    packed.write_bytes(bytes(whole))
    *curves, last = read_file(packed)
    assert isinstance(last, UnparsedLine)
    assert len(curves) == 1


def test_a_missing_file_and_a_directory_are_told_of(tmp_path: Path) -> None:
    for path in (tmp_path / "none.out", tmp_path):
        (unparsed,) = read_file(path)
        assert isinstance(unparsed, UnparsedLine)
        assert unparsed.source == str(path)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_a_tar_archive_is_named_and_its_logs_are_not_read(tmp_path: Path, mode: str) -> None:
    (tmp_path / "x.out").write_text("# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n1 2.00\n")
    path = tmp_path / "x.tgz"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        archive.add(tmp_path / "x.out", "x.out")
    (line,) = read_file(path, "x.tgz")
    assert isinstance(line, UnparsedLine)
    assert line.reason.startswith(UNREADABLE)
    assert "tar archive" in line.reason


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.out"
    path.write_bytes(b"")
    assert list(read_file(path)) == []


def test_a_binary_file_is_strange_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "core"
    path.write_bytes(bytes(range(256)) * 2000)
    assert all(isinstance(each, UnparsedLine) for each in read_file(path))


def test_a_very_long_line_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 3 * LONGEST_BYTES + b"\n" + FIXTURE.read_bytes())
    unparsed, curve = read_file(path)
    assert isinstance(unparsed, UnparsedLine)
    assert (unparsed.line, unparsed.count) == (1, 1)
    assert isinstance(curve, SuiteCurve)
    assert curve.first_line == 3


def test_much_content_in_a_small_archive_is_unpacked_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"junk\n" * 2_000_000))
    (unparsed,) = read_file(path)
    assert isinstance(unparsed, UnparsedLine)
    assert unparsed.count == 2_000_000


def test_padding_behind_an_archive_is_nothing_and_junk_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(FIXTURE.read_bytes()) + b"\0" * 512)
    assert len(list(read_file(path))) == 1
    path.write_bytes(gzip.compress(FIXTURE.read_bytes()) + b"junk")
    assert [type(each) for each in read_file(path)] == [SuiteCurve, UnparsedLine]


def in_utf_16(raw: bytes) -> bytes:
    return raw.decode().encode("utf-16")


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress, in_utf_16])
def test_what_other_tools_packed_or_encoded_is_read(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(FIXTURE.read_bytes()))
    assert only_curve(path) == only_curve(FIXTURE)


def test_a_long_line_of_json_is_whole_in_whatever_encoding(tmp_path: Path) -> None:
    document = json.loads((FIXTURES / "iperf3" / "3.12--json.out").read_text())
    document["padding"] = "x" * 3 * LONGEST_BYTES
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / encoding
        path.write_bytes(("c1: " + json.dumps(document) + "\n").encode(encoding))
        assert only_curve(path).cut_off == ""


def test_a_broken_xz_archive_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "log.xz"
    path.write_bytes(lzma.compress(FIXTURE.read_bytes() * 40)[:-40])
    found = list(read_file(path))
    assert isinstance(found[-1], UnparsedLine)
    assert found[-1].reason.startswith(UNREADABLE)


def test_a_header_that_asks_for_all_memory_costs_that_file_alone(tmp_path: Path) -> None:
    """The block's header says 4 GiB, the most that the format can say (xz-file-format, 5.3.1)."""
    whole = bytearray(lzma.compress(FIXTURE.read_bytes(), preset=9))
    header = whole[12 : 12 + (whole[12] + 1) * 4 - 4]
    header[header.index(b"\x21\x01") + 2] = 40
    whole[12 : 12 + len(header)] = header
    whole[12 + len(header) : 16 + len(header)] = zlib.crc32(header).to_bytes(4, "little")
    packed = tmp_path / "log.xz"
    packed.write_bytes(bytes(whole))
    (last,) = read_file(packed)
    assert isinstance(last, UnparsedLine)
    assert "emory" in last.reason


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress])
def test_other_archives_behind_each_other_are_read_and_cut_ones_told(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    packed = tmp_path / "log"
    packed.write_bytes(pack(FIXTURE.read_bytes()) * 2)
    assert len(list(read_file(packed))) == 2
    packed.write_bytes(pack(FIXTURE.read_bytes())[:-9])
    *_, last = read_file(packed)
    assert isinstance(last, UnparsedLine)
    assert "cut off" in last.reason


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_told_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    place = Path("/dev/zero")
    if kind == "pipe":
        place = tmp_path / "log"
        os.mkfifo(place)
    (last,) = read_file(place)
    assert isinstance(last, UnparsedLine)
    assert f"it is a {kind}, no regular file" in last.reason
