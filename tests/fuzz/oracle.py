"""What must hold of every input: no exception, no figure that is none, no line lost."""

import io
import math
import resource
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from types import FrameType

import msgspec
from tests.logs.readers.test_repetitions import unfold

from fabricgauge.logs.readers.command import command_in, goes_on
from fabricgauge.logs.readers.dialects import JSON_DIALECTS, dialect_begun
from fabricgauge.logs.readers.launch import Launch
from fabricgauge.logs.readers.lines import plain, split_host, split_label, split_stamp
from fabricgauge.logs.readers.messages import kind_of_message
from fabricgauge.logs.readers.repetitions import read_folded
from fabricgauge.logs.readers.suites import (
    NCCL_ALONE,
    OUR_REMARK,
    Found,
    is_decoration,
    is_fence,
    read,
)
from fabricgauge.model.suite import Failure, SuiteCurve, SuitePoint, UnparsedLine

#: Processor time that one input may take: a start, and what each of its bytes may cost.
SECONDS, SECONDS_PER_BYTE = 0.25, 20e-6
#: How much more memory one small input may take than all before it.
MOST_BYTES_MORE = 256 << 20
HANG_S = 60.0
#: So many times an input stands in a log whose tables are folded.
REPEATED = 6

_decode = msgspec.json.Decoder(list[SuiteCurve | UnparsedLine]).decode


class HangError(BaseException):
    """An input takes much longer than any may; no reader's ``except`` holds it back."""


def reading(content: bytes) -> list[Found]:
    """Everything in one input, read as the program reads a file."""
    return list(read(io.BytesIO(content), "log"))


def complaints(content: bytes, again: bool = True) -> list[str]:
    """What is wrong with the reading of one input; ``again`` reads it twice.

    Must be called in the main thread: it sets an alarm.
    """
    before, began = _peak_bytes(), time.process_time()
    handler = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        found = reading(content)
    except (Exception, HangError):
        return [_told(traceback.format_exc())]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    wrong = [*_too_much(content, time.process_time() - began, _peak_bytes() - before)]
    wrong += _wrong(content, found)
    if again and reading(content) != found:
        wrong.append("a second reading gives something else")
    return wrong


def folding_complaints(content: bytes) -> list[str]:
    """What is wrong if tables that repeat are folded: an input several times over."""
    blocks = [content * REPEATED]
    folded = Counter(map(msgspec.json.encode, unfold(read_folded(blocks, "log", fold_from=1))))
    usual = Counter(map(msgspec.json.encode, read(blocks, "log")))
    return [] if folded == usual else ["folded and unfolded again its contents are others"]


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise HangError(f"still reading after {HANG_S} s")


def _told(trace: str) -> str:
    """The last calls and the error, as one line that is alike for alike errors."""
    lines = [line.strip() for line in trace.strip().split("\n")]
    places = [line.split("/")[-1] for line in lines if line.startswith("File ")]
    return f"{lines[-1][:200]} at {' < '.join(reversed(places[-3:]))}"


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # KiB on Linux


def _too_much(content: bytes, seconds: float, bytes_more: int) -> Iterator[str]:
    bound = SECONDS + len(content) * SECONDS_PER_BYTE
    if seconds > bound:
        again = min(_seconds(content) for _ in range(2))
        if again > bound:
            yield f"slow: {len(content)} bytes take more than {bound:.1f} s"
    if bytes_more > MOST_BYTES_MORE:
        yield f"memory: {len(content)} bytes take {bytes_more >> 20} MiB more than any before"


def _seconds(content: bytes) -> float:
    began = time.process_time()
    reading(content)
    return time.process_time() - began


def _wrong(content: bytes, found: Sequence[Found]) -> Iterator[str]:
    lines = [plain(raw) for raw in io.BytesIO(content)]
    for one in found:
        if isinstance(one, SuiteCurve):
            yield from _of_curve(one, lines)
        elif not _is_line(one.line, lines) or one.count < 1:
            yield f"line {one.line} is blank or outside, or stands for {one.count}"
    try:
        if _decode(msgspec.json.encode(found)) != found:
            yield "the results change when they are written and read"
    except Exception:
        yield _told(traceback.format_exc())
    yield from _lost(lines, found)


def _of_curve(curve: SuiteCurve, lines: Sequence[str]) -> Iterator[str]:
    name = f"{curve.suite} {curve.quantity}"
    least = 0.0 if curve.quantity == "overlap" else 5e-324
    if not 1 <= curve.first_line <= curve.last_line <= len(lines):
        yield f"{name}: lines {curve.first_line} to {curve.last_line} are not in the file"
    for point in curve.points:
        estimate = point.estimate
        numbers = (estimate.value, estimate.low, estimate.high)
        if not all(math.isfinite(each) and each >= least for each in numbers):
            yield f"{name}: a figure of {numbers}"
        if not all(map(math.isfinite, point.besides.values())):
            yield f"{name}: beside a figure {point.besides}"
        if estimate.samples < 0 or estimate.launches < 1:
            yield f"{name}: {estimate.samples} samples"
    rows: tuple[SuitePoint | Failure, ...] = (*curve.points, *curve.failures)
    for row in rows:
        if not _is_line(row.line, lines):
            yield f"{name}: a row at line {row.line}, which is blank or outside"
        if row.message_bytes is not None and not 0 <= row.message_bytes < 1 << 63:
            yield f"{name}: a message of {row.message_bytes} bytes"
    if not (curve.points or curve.failures or curve.cut_off):
        yield f"{name}: nothing, and no word why"
    if curve.directions not in (1, 2) or curve.pairs < 1 or (curve.ranks or 1) < 1:
        yield f"{name}: {curve.directions} directions, {curve.pairs} pairs, {curve.ranks} ranks"


def _is_line(number: int, lines: Sequence[str]) -> bool:
    return 1 <= number <= len(lines) and bool(lines[number - 1].strip())


def _lost(lines: Sequence[str], found: Sequence[Found]) -> Iterator[str]:
    """Where no suite's output is, each line is told of, but rulers and blank lines."""
    if any(isinstance(one, SuiteCurve) for one in found) or not _is_foreign(lines):
        return
    if any(goes_on(text) for line in lines for text in _readings(line)):
        return  # a command's next lines are its own
    # NCCL's warning stands beside its lines, which are told of as well.
    told = sum(
        one.count for one in found if isinstance(one, UnparsedLine) and one.reason != NCCL_ALONE
    )
    most = sum(bool(line.strip()) for line in lines)
    least = sum(not any(map(_may_pass, _readings(line))) for line in lines)
    if not least <= told <= most:
        yield f"{least} to {most} lines of nobody's are told of as {told}"


def _readings(line: str) -> tuple[str, ...]:
    """Return a line as it is, and its text behind a label, a host or a time stamp."""
    return line, split_label(line)[1], split_host(line)[1], split_stamp(line)


def _may_pass(text: str) -> bool:
    is_told = command_in(text) is not None or kind_of_message(text) is not None
    is_told = is_told or Launch().take(text) is not None
    return is_told or is_decoration(text) or is_fence(text) or text.startswith(OUR_REMARK)


def _is_foreign(lines: Sequence[str]) -> bool:
    texts = [text for line in lines for text in _readings(line)]
    if any(dialect_begun(form) >= 0 for text in texts for form in (text, text.strip())):
        return False
    for reading in range(4):
        whole = "\n".join(_readings(line)[reading] for line in lines)
        starts = [place for place, char in enumerate(whole) if char in "{["][:50]
        if any(json.recognised(whole[start:]) for start in starts for json in JSON_DIALECTS):
            return False
    return True
