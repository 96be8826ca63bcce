"""What a preflight came to as a page of text."""

import textwrap
from collections.abc import Iterator

from rich.style import Style

from fabricgauge.model.finding import Diagnosis, Finding
from fabricgauge.report.interface import Setting
from fabricgauge.report.preflight.words import command, conclusion, looked_at, not_looked
from fabricgauge.report.visible import visible

STYLES = {"FAIL": "bold red", "WARN": "bold yellow", "NOTE": "bold cyan"}


def render(diagnosis: Diagnosis, setting: Setting) -> str:
    """Findings, the worst first, then what could not be looked at; commands in one line each."""
    return "\n".join(line.rstrip() for line in _lines(diagnosis, setting)) + "\n"


def _lines(diagnosis: Diagnosis, setting: Setting) -> Iterator[str]:
    yield from _wrapped(looked_at(diagnosis), setting.width)
    for finding in diagnosis.findings:
        yield ""
        yield from _finding(finding, setting)
    yield ""
    yield from _wrapped(conclusion(diagnosis), setting.width)
    for number, (what, why) in enumerate(not_looked(diagnosis)):
        if number == 0:
            yield "could not look:"
        yield from _wrapped(f"  {visible(f'{what}: {why}')}", setting.width, "    ")


def _finding(finding: Finding, setting: Setting) -> Iterator[str]:
    word = finding.severity.value
    shown = Style.parse(STYLES[word]).render(word) if setting.colour else word
    network = f" ({finding.network})" if finding.network else ""
    head = visible(f"{finding.check}: {finding.where}{network}: {finding.what}")
    first, *rest = _wrapped(f"{word} {head}", setting.width, "     ")
    yield shown + first[len(word) :]
    yield from rest
    for line in finding.evidence:
        yield from _wrapped(f"  {visible(line)}", setting.width, "    ")
    yield from _wrapped(f"  why: {visible(finding.why)}", setting.width, "    ")
    yield from _wrapped(f"  remedy: {visible(finding.remedy)}", setting.width, "    ")
    for one in finding.mends:
        yield f"    {command(one)}"


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most ``width`` columns; a word that is longer stands in a line of its own."""
    return textwrap.wrap(
        text, max(40, width), subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False, drop_whitespace=True,
    ) or [""]  # fmt: skip
