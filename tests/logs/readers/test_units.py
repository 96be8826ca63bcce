"""No table is read in another unit than its heading has: it is refused by its line."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.logs.readers.units import units_in
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[2] / "fixtures"
#: A real log of each suite, and a unit of its heading.
HEADINGS = (
    ("osu/7.4--bw-validate-percentiles.out", "MB/s"),
    ("osu/7.4--allreduce-full.out", "us"),
    ("osu/7.4--barrier.out", "us"),
    ("osu/5.6.3--ibarrier-written.out", "us"),
    ("osu/5.8--put-bw-1gbe.out", "MB/s"),
    ("osu/7.3--tag-indented.out", "MB/s"),
    ("nccl-tests/2.9.0--all-reduce.out", "us"),
    ("nccl-tests/2.9.0--all-reduce.out", "GB/s"),
    ("nccl-tests/2.13--hash-eaten.out", "GB/s"),
    ("ucx_perftest/1.4--tag-lat.out", "usec"),
    ("ucx_perftest/1.16--tag-bw-cuda.out", "MB/s"),
    ("imb/2021.11--intel-p2p-pingpong.out", "Mbytes/sec"),
    ("fabtests/1.17--pingpong-rdm-client.out", "MB/sec"),
    ("nxnlatbw/2005--six-ranks.out", "us"),
    ("nxnlatbw/2005--six-ranks.out", "Mbytes/sec"),
)
FOREIGN = (
    "KB/s", "kB/s", "GB/s", "MiB/s", "KiB/s", "Kbit/s", "Gbps", "Mbps", "MBps", "bytes/s", "b/s",
    "messages/s", "Mmsgs/s", "Mops/s", "ms", "msec", "ns", "nsec", "s", "cycles",
)  # fmt: skip


def figures(data: bytes) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (curve.quantity, point.message_bytes, point.estimate.value)
        for curve in read([data]) if isinstance(curve, SuiteCurve)
        for point in curve.points
    )  # fmt: skip


def refusals(data: bytes) -> Sequence[UnparsedLine]:
    return [item for item in read([data]) if isinstance(item, UnparsedLine)]


def with_unit(name: str, usual: str, unit: str) -> tuple[bytes, bytes, int]:
    """The log, the log with another unit in its first heading, and the number of that line."""
    data = (FIXTURES / name).read_bytes()
    lines = data.split(b"\n")
    number = next(
        number for number, line in enumerate(lines)
        if usual in units_in(line.decode("utf-8", "replace").partition("<stdout>:")[2] or
                             line.decode("utf-8", "replace")) or
        (usual.encode() in line and not any(word[:1].isdigit() for word in line.split()))
    )  # fmt: skip
    lines[number] = lines[number].replace(usual.encode(), unit.encode(), 1)
    return data, b"\n".join(lines), number + 1


@given(st.sampled_from(HEADINGS), st.sampled_from(FOREIGN))
@example(("osu/5.8--put-bw-1gbe.out", "MB/s"), "KB/s")
@example(("nxnlatbw/2005--six-ranks.out", "us"), "ms")
@example(("nxnlatbw/2005--six-ranks.out", "Mbytes/sec"), "GB/s")
def test_another_unit_is_converted_or_refused(heading: tuple[str, str], unit: str) -> None:
    name, usual = heading
    if not (FIXTURES / name).exists():
        pytest.fail(name)
    if unit in (usual, usual.replace("sec", "s")):
        return
    data, changed, number = with_unit(name, usual, unit)
    before, after = figures(data), figures(changed)
    assert before
    assert set(after) != set(before) or not after
    if not after:
        assert any(item.line >= number for item in refusals(changed))


def test_a_refusal_names_line_unit_and_the_suite_s_own() -> None:
    _, changed, number = with_unit("osu/5.8--put-bw-1gbe.out", "MB/s", "KB/s")
    (refusal,) = (item for item in refusals(changed) if item.line == number)
    assert "KB/s" in refusal.reason
    assert "MB/s" in refusal.reason
    assert figures(changed) == ()


def test_the_next_table_with_usual_units_is_read() -> None:
    data, changed, _ = with_unit("osu/5.8--put-bw-1gbe.out", "MB/s", "GB/s")
    assert figures(changed + b"\n" + data) == figures(data)


@pytest.mark.parametrize(
    "text",
    [
        "# NIC rate 100 Gb/s, Size of the ring 4 KB",
        "1048576 117.2 MB/s",
        "latency of the last run was fine (see below)",
        "",
    ],
)
def test_lines_that_are_no_headings_have_no_units(text: str) -> None:
    assert units_in(text) == ()
