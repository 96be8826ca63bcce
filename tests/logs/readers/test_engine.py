import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.engine import TORN, NotUnderstood, parse_line
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import (
    FORMAT_VERSION,
    DataCheck,
    Footer,
    Header,
    Measurement,
    NodeCounters,
    ProcessorUse,
    Timer,
)

HEADER = Header(
    "fabricgauge-engine", "2.0", "0.1.0", "MPICH 5", "4.1", "GNU 12", 2,
    "2026-11-21T20:00:00Z", Timer("CLOCK_MONOTONIC", 1e-9, 2e-8),
)  # fmt: skip


def encoded(record: msgspec.Struct) -> str:
    return msgspec.json.encode(record).decode()


def test_a_record_comes_back_as_it_was_written() -> None:
    assert parse_line(encoded(HEADER)) == HEADER
    assert parse_line(encoded(Footer(3, 1.5)) + "\r\n") == Footer(3, 1.5)


def test_a_launchers_warning_is_kept_with_its_text() -> None:
    answer = parse_line("WARNING: no active ports found")
    assert isinstance(answer, NotUnderstood)
    assert "WARNING" in answer.text


@given(st.integers(1, len(encoded(HEADER)) - 1))
def test_a_record_cut_off_anywhere_is_not_understood(cut: int) -> None:
    torn = parse_line(encoded(HEADER)[:cut])
    assert isinstance(torn, NotUnderstood)
    assert torn.reason == TORN


@pytest.mark.parametrize("version", ["1.0", "3.0"])
def test_another_major_version_is_refused_with_both_versions(version: str) -> None:
    refused = parse_line(encoded(msgspec.structs.replace(HEADER, version=version)))
    assert isinstance(refused, NotUnderstood)
    assert version in refused.reason
    assert FORMAT_VERSION in refused.reason


def test_what_a_rank_could_not_see_is_read_as_absent_with_its_reason() -> None:
    hidden = Skipped("/proc/self/task/7/schedstat: Permission denied")
    unseen = msgspec.structs.replace(
        quiet_case(), sockets=((), hidden),
        processors=(ProcessorUse(0, 0.1, 0.1, hidden, hidden, hidden, hidden, hidden),),
        counters=(NodeCounters(0, "c1", {}, {}, {"/proc/self/net/dev": "Permission denied"}),),
    )  # fmt: skip
    line = encoded(unseen)
    reason = "/proc/self/task/7/schedstat: Permission denied"
    assert f'"run_delay_s":{{"type":"skipped","reason":"{reason}"}}' in line
    assert parse_line(line) == unseen


def quiet_case() -> Measurement:
    return Measurement(
        "latency/8", "latency", 8, 1, 0, 1, "skipped", "why", "", 0, 0, 1, 0.0, 8, (), None,
        0.0078125, (), (), DataCheck(requested=False, ok=True), (), (), (),
    )  # fmt: skip


def test_a_newer_minor_version_with_more_fields_is_read() -> None:
    newer = encoded(msgspec.structs.replace(HEADER, version="2.99"))
    assert isinstance(parse_line(newer[:-1] + ',"new_field":1}'), Header)


@given(st.text())
def test_no_text_crashes_the_parser(text: str) -> None:
    parse_line(text)


@given(st.integers(1, 20000))
def test_deep_nesting_is_not_understood(depth: int) -> None:
    assert isinstance(parse_line('{"record":' + "[" * depth), NotUnderstood)
