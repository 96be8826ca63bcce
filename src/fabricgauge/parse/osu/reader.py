"""Reads what the programs of the suite print, one after the other."""

from collections.abc import Iterable

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import LogLine, Report
from fabricgauge.parse.osu.output import ABOVE_TITLE, OsuOutput, facts_in, is_prose
from fabricgauge.parse.osu.titles import title_of

_IN_OUTPUT = "a line of the OSU suite"
_BETWEEN_OUTPUTS = "no output of a known suite"


class OsuReader:
    """Keeps one program's output, or what was printed above its title."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._above: dict[str, str] = {}
        self._output: OsuOutput | None = None

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        output = self._output
        if output is not None and output.takes_row(line):
            return ()
        words = line.text.split()
        return self._between_rows(line, words) if words else ()

    def rows(self, number: int, text: str, place: int) -> int:
        return place if self._output is None else self._output.rows(number, text, place)

    def end(self) -> Iterable[SuiteCurve]:
        output, self._output = self._output, None
        return output.close() if output is not None else ()

    def _between_rows(self, line: LogLine, words: list[str]) -> Iterable[SuiteCurve]:
        title = title_of(line.text, "topology creation" in self._above)
        if title is not None:
            curves = self.end()
            self._output, self._above = OsuOutput(line, title, self._above, self._report), {}
            return curves
        facts = facts_in(line.text)
        if facts and (self._output is None or ABOVE_TITLE & facts.keys()):
            curves = self.end()
            self._above = {**self._above, **facts}
            return curves
        if words[0].startswith("```"):
            return self.end()
        found = None if self._output is None else self._output.line(line, words, facts)
        if found is None and not is_prose(line.text):
            self._report(line, _IN_OUTPUT if self._output is not None else _BETWEEN_OUTPUTS)
        return found or ()
