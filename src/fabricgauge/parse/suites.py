"""Any mix of suites' outputs, in any order, line by line: each reader gets what is its own.

Nothing is kept but the table that is being read, or one JSON object of bounded size.
"""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.parse.dialects import dialect_begun
from fabricgauge.parse.interface import Line
from fabricgauge.parse.lines import is_certain, plain, split_host, split_label
from fabricgauge.parse.one_stream import LogStream

#: Outputs of more ranks or hosts in one file are read as if they were one's.
MOST_LABELS = 4096

Found = SuiteCurve | UnparsedLine


def read(lines: Iterable[bytes], source: str = "") -> Iterator[Found]:
    """Every curve of a file, and every line that nothing could be made of.

    ``lines`` are raw, with or without their ends. Lines not understood that follow each
    other are told of together.
    """
    for found in _read(lines):
        yield msgspec.structs.replace(found, source=source)


def _read(lines: Iterable[bytes]) -> Iterator[Found]:
    main = LogStream()
    streams: dict[str, LogStream] = {"": main}
    for number, raw in enumerate(lines, 1):
        text = plain(raw)
        stream = main
        if ":" in text or text[:1] == "[":
            label, text = _label_of(text, streams)
            stream = streams[label] if label in streams else _opened(label, streams)
        found = stream.line(Line(number, text))
        if found:
            yield from found
    for stream in streams.values():
        yield from stream.end()


def _opened(label: str, streams: dict[str, LogStream]) -> LogStream:
    few = len(streams) < MOST_LABELS
    return streams.setdefault(label if few else "", LogStream())


def _label_of(text: str, streams: dict[str, LogStream]) -> tuple[str, str]:
    """Many lines look labelled; a label counts once a suite's output began behind it."""
    label, rest = split_label(text)
    if label:
        certain = label in streams or is_certain(label) or _begins(rest)
        return (label, rest) if certain else ("", text)
    host, rest = split_host(text)
    # An object's bare key (perftest 4.5 writes ``test_info: {``) is no host's label.
    if not host or streams[""].in_object:
        return "", text
    if (host in streams or _begins(rest)) and dialect_begun(text, at_start=True) < 0:
        return host, rest
    return "", text


def _begins(text: str) -> bool:
    return text[:1] == "{" or dialect_begun(text) >= 0
