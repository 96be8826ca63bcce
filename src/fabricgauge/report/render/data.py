"""Write the complete formats: JSON, and comma-separated values."""

import csv
import io
import re
from json import dumps

import msgspec

from fabricgauge.report.interface import Cell, OneLine, Records, Setting
from fabricgauge.report.visible import is_hidden, visible

#: A spreadsheet takes a cell with such a beginning for a formula and evaluates it.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # full width too


#: Characters outside of printable ASCII; JSON escapes the control characters of ASCII but one.
_UNUSUAL = re.compile(r"[^\x00-~]+")


def json(document: object, _setting: Setting) -> str:
    """Return the document with one space per level, or on one line."""
    content = document.document if isinstance(document, OneLine) else document
    written = msgspec.json.encode(content, enc_hook=_plain)
    if content is document:
        written = msgspec.json.format(written, indent=1)
    text = written.decode()
    # Each control character, such as U+009B, becomes an escape of JSON.
    unusual = {c for part in _UNUSUAL.findall(text) for c in part if is_hidden(c)}
    if unusual:
        text = text.translate({ord(c): dumps(c).strip('"') for c in unusual})
    return f"{text}\n"


def _plain(value: object) -> object:
    """Return a number of numpy's as Python's own, which prints alike."""
    from numpy import generic

    if isinstance(value, generic):
        return value.item()
    raise NotImplementedError(f"no JSON for {type(value)}")


def text(lines: str, _setting: Setting) -> str:
    """Return text with its tabs; other control characters are spelled out."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines.split("\n"))


def table(records: Records, _setting: Setting) -> str:
    """Return a heading and a row per record; RFC 4180 except for the line ends, which are LF."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(records.columns)
    for row in records.rows:
        writer.writerow([cell(value) for value in row])
    return page.getvalue()


def cell(value: Cell) -> str:
    """Return a figure with all its digits, or text that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(float(value))  # also numpy's, whose own repr is not a number
    if not isinstance(value, str):
        return str(value)
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
