"""The formats for programs that hold everything: JSON, and comma-separated values."""

import csv
import io
from json import dumps

import msgspec

from fabricgauge.report.interface import Cell, OneLine, Records, Setting
from fabricgauge.report.visible import is_hidden, visible

#: A spreadsheet takes a cell that begins so for a formula and would work it out.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # full width too


def json(document: object, _setting: Setting) -> str:
    """The document with one space per level, or on one line."""
    if isinstance(document, OneLine):
        return _inert(msgspec.json.encode(document.document, enc_hook=_plain))
    written = msgspec.json.encode(document, enc_hook=_plain)
    return _inert(msgspec.json.format(written, indent=1))


def _inert(written: bytes) -> str:
    """The same document; what a terminal could obey, such as U+009B, is an escape of JSON."""
    text = written.decode()
    hidden = {ord(c): dumps(c).strip('"') for c in set(text) if c > "~" and is_hidden(c)}
    return (text.translate(hidden) if hidden else text) + "\n"


def _plain(value: object) -> object:
    """A number of numpy's as Python's own, which it prints as well as any other."""
    from numpy import generic

    if isinstance(value, generic):
        return value.item()
    raise NotImplementedError(f"no JSON for {type(value)}")


def text(lines: str, _setting: Setting) -> str:
    """Text with its tabs; whatever else a terminal could obey is spelled out."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines.split("\n"))


def table(records: Records, _setting: Setting) -> str:
    """A heading and a row per record; RFC 4180 but for the line ends, which are LF."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(records.columns)
    for row in records.rows:
        writer.writerow([cell(value) for value in row])
    return page.getvalue()


def cell(value: Cell) -> str:
    """A figure with every digit it has; text that no spreadsheet works out."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(float(value))  # also numpy's, whose own repr is not a number
    if not isinstance(value, str):
        return str(value)
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
