"""``fabricgauge explain``: a rule, a check, a threshold or a word, as the documentation has it."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Setting, versioned

EntryKind = Literal["rule", "check", "threshold", "word"]

#: Share of equal letters from which a name is offered for a mistyped one.
_SIMILAR = 0.6
#: Most names that match a part of a name, and most that are offered.
_MOST_MATCHES, _MOST_OFFERED = 4, 3

_SECTION = re.compile(r"^## (\S+)\n\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
_THRESHOLD = re.compile(r"^\| `([\w.-]+)` \| ([^|]+) \| ([^|]+) \| \[([\w-]+)\]", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Entry(msgspec.Struct, frozen=True):
    """A name, and its explanation as Markdown without links; ``also`` are further names of it."""

    kind: EntryKind
    name: str
    text: str
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.also)


def read_entries(pages: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the entries of the pages ``rules``, ``checks``, ``configuration`` and ``glossary``."""
    for name, text in _SECTION.findall(pages["rules"]):
        yield Entry("rule", name, _plain(text))
    for name, text in _SECTION.findall(pages["checks"]):
        yield Entry("check", name, _plain(text))
    for name, value, unit, rule in _THRESHOLD.findall(pages["configuration"]):
        sentence = f"Threshold of the rule {rule}. Built-in value: {value} {unit}."
        yield Entry("threshold", name, f"{sentence} A site sets it in `[thresholds]`.")
    for names, text in _ROW.findall(pages["glossary"]):
        if names != "word" and not names.startswith("---"):
            first, *others = names.replace("`", "").split(", ")
            yield Entry("word", first, _plain(text), (*others, *([names] if others else [])))


def _plain(markdown: str) -> str:
    """Return Markdown without links; a link to a proof goes with its text."""
    return _LINK.sub(r"\1", re.sub(r"\[Proof\]\([^)]*\)", "", markdown)).strip()


def find_entries(entries: tuple[Entry, ...], name: str) -> tuple[Entry, ...]:
    """Return all entries with that name in any case, else those whose name contains it.

    Raises:
        UsageError: there is none; the message has similar names.
    """
    wanted = " ".join(name.split()).casefold()
    exact = tuple(entry for entry in entries if wanted in map(str.casefold, entry.names))
    if exact:
        return exact
    parts = tuple(
        entry for entry in entries if any(wanted in known.casefold() for known in entry.names)
    )
    if 0 < len(parts) <= _MOST_MATCHES:
        return parts
    known = {name.casefold(): name for entry in entries for name in entry.names}
    similar = get_close_matches(wanted, known, _MOST_OFFERED, _SIMILAR)
    offered = [entry.name for entry in parts[:_MOST_OFFERED]] or [known[key] for key in similar]
    hint = f"did you mean {' or '.join(map(repr, offered))}? " if offered else ""
    raise UsageError(f"nothing is called {name!r}; {hint}'fabricgauge explain' lists all names")


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
            # The first sentence of an entry; a rule's without its label.
            texts = (_LABEL.sub("", _sentence(entry.text)) for entry in chosen)
            rows = tuple(
                (entry.name, match[0] if (match := _FIRST_SENTENCE.match(text)) else text)
                for entry, text in zip(chosen, texts, strict=True)
            )
            block: doc.Block = doc.Table(doc.heads("", ""), rows)
        else:
            block = doc.Paragraph(", ".join(entry.name for entry in chosen))
        yield doc.Section(kind, title, (block,))


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


#: The pages in an installed package, and in a checkout.
INSTALLED = Path(__file__).resolve().parents[2] / "_manual"
CHECKOUT = Path(__file__).resolve().parents[4] / "docs" / "reference"

#: Pages, in the order in which a name is looked up.
PAGES = ("rules", "checks", "configuration", "glossary")


@click.command(context_settings=HELP_OPTIONS)
@click.argument("words", nargs=-1, metavar="[NAME]")
@cli_options.format_option("explanation")
@cli_options.to_option
@cli_options.output_file_option
def explain(words: tuple[str, ...], **options: Any) -> None:
    """Explain a rule, a check, a threshold or a word of the reports.

    NAME is e.g. fraction, INCONCLUSIVE, fraction.pass or half round trip. Without it, lists all
    names. The texts are those of the documentation, and come with the program.
    """
    entries = all_entries()
    if words:
        explanation = Explanation(find_entries(entries, " ".join(words)))
    else:
        explanation = Explanation(entries, is_list=True)
    print_report("explanation", explanation, options["format"], options["to"])


def all_entries() -> tuple[Entry, ...]:
    """Return the entries of all pages.

    Raises:
        CannotRun: the package lacks its pages.
    """
    for folder in (INSTALLED, CHECKOUT):
        files = {page: folder / f"{page}.md" for page in PAGES}
        if all(file.is_file() for file in files.values()):
            texts = {page: file.read_text("utf-8") for page, file in files.items()}
            return tuple(read_entries(texts))
    raise CannotRun(f"the pages are in neither {INSTALLED} nor {CHECKOUT}; install it again")
