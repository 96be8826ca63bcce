"""Show the explanation of a name, or all names."""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.features.explain.entries import Entry
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Setting, versioned

_TITLES = {"rule": "Rules", "check": "Checks of doctor", "threshold": "Thresholds", "word": "Words"}
_FIRST_SENTENCE = re.compile(r".*?[.?](?=\s|\Z)", re.DOTALL)
_STRONG = re.compile(r"\*\*(.+?)\*\*")
_LABEL = re.compile(r"\A(Question|Outcomes|What to do)\. ")


class Explanation(msgspec.Struct, frozen=True):
    """The entries of one name, or all entries as a list."""

    entries: tuple[Entry, ...]
    is_list: bool = False


def document(explanation: Explanation, _setting: Setting) -> doc.Report:
    """Return each entry in full, or a line for each."""
    entries = explanation.entries
    if explanation.is_list:
        count = f"{len(entries)} names; 'fabricgauge explain NAME' explains each"
        return _report("NAMES", count, tuple(_lists(entries)))
    first = entries[0]
    sections = (
        doc.Section(entry.kind, "" if entry is first else f"{entry.kind} {entry.name}",
                    tuple(_blocks(entry.text)))
        for entry in entries
    )  # fmt: skip
    return _report(first.kind.upper(), first.name, tuple(sections))


def _report(word: str, headline: str, sections: tuple[doc.Section, ...]) -> doc.Report:
    return doc.Report(word, "", headline, "fabricgauge explain", "fabricgauge explain", sections)


def _lists(entries: tuple[Entry, ...]) -> Iterator[doc.Section]:
    for kind, title in _TITLES.items():
        chosen = [entry for entry in entries if entry.kind == kind]
        if kind in ("rule", "check"):
            rows = tuple((entry.name, _summary(entry)) for entry in chosen)
            block: doc.Block = doc.Table(doc.heads("", ""), rows)
        else:
            block = doc.Paragraph(", ".join(entry.name for entry in chosen))
        yield doc.Section(kind, title, (block,))


def _summary(entry: Entry) -> str:
    """Return the first sentence of an entry, a rule's without its label."""
    text = _LABEL.sub("", _STRONG.sub(r"\1", " ".join(entry.text.split())))
    match = _FIRST_SENTENCE.match(text)
    return match[0] if match else text


def _blocks(markdown: str) -> Iterator[doc.Block]:
    for part in re.split(r"\n{2,}", markdown):
        lines = part.strip("\n").splitlines()
        if not lines:
            continue
        if lines[0].startswith("|"):
            yield _table(lines)
        elif lines[0].startswith("```"):
            yield doc.Lines(tuple(line for line in lines if not line.startswith("```")))
        elif lines[0].startswith("- "):
            items = re.split(r"\n- ", part.strip("\n").removeprefix("- "))
            yield doc.Items(tuple(f"- {_sentence(item)}" for item in items))
        else:
            yield doc.Paragraph(_sentence(part))


def _sentence(markdown: str) -> str:
    return _STRONG.sub(r"\1", " ".join(markdown.split()))


def _table(lines: list[str]) -> doc.Table:
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    head, width = rows[0], len(rows[0])
    body = (row for row in rows[2:] if len(row) == width)
    return doc.Table(doc.heads(*head), tuple(tuple(map(_sentence, row)) for row in body))


def data(explanation: Explanation, _setting: Setting) -> dict[str, object]:
    """Return the entries; their texts are Markdown."""
    return versioned("explanation", "1.0", entries=explanation.entries)


KIND = Kind("explanation", document, data)
