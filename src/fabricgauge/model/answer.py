"""Answer in one line and one exit status, in the form of the program that asks.

Sources: slurm.conf(5) of Slurm 22.05 to 25.11, HealthCheckProgram and Prolog: a status other than 0
drains the node of a prolog, and keeps slurmd from registering. Monitoring Plugins, Development
Guidelines: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN; the line is ``TEXT | 'LABEL'=VALUE[UNIT];…``.
node-problem-detector, pkg/custompluginmonitor: 0 OK, 1 NonOK, any other Unknown; the message ends
after 80 octets.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import msgspec

from fabricgauge.model.verdict import Outcome, exit_status

#: Who asks: a person or a script, Slurm, Nagios, node-problem-detector.
Form = Literal["plain", "slurm", "nagios", "npd"]
FORMS: tuple[Form, ...] = get_args(Form)

#: Marks the reason of a node that was drained by this program.
TAG = "[fabricgauge]"
#: Octets of Slurm's reason before its tag, and of node-problem-detector's message.
MOST_OCTETS: dict[Form, int] = {"slurm": 100, "npd": 80}

_ALLOWED = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._:,;/%()+=@[]-"
)

#: The status of each outcome, by form. Only a certain fault is an alarm to a scheduler.
STATUSES: dict[Form, dict[Outcome, int]] = {
    "plain": {outcome: exit_status(outcome) for outcome in Outcome},
    "slurm": {outcome: int(outcome is Outcome.FAIL) for outcome in Outcome},
    "nagios": {
        outcome: {Outcome.PASS: 0, Outcome.WARN: 1, Outcome.FAIL: 2}.get(outcome, 3)
        for outcome in Outcome
    },
    "npd": {
        outcome: {Outcome.PASS: 0, Outcome.WARN: 0, Outcome.FAIL: 1}.get(outcome, 2)
        for outcome in Outcome
    },
}
#: Signs of reports, with their words in a line that holds only plain letters.
_WORDS = str.maketrans({"–": "-", "−": "-", "×": "x", "→": "to", "↔": "and", "µ": "u", "…": "..."})
_NAGIOS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


class PerformanceFigure(msgspec.Struct, frozen=True):
    """A figure for a monitor's graphs; ``unit`` is s, B, % or c (a counter), or empty."""

    label: str
    value: float
    unit: str = ""


def format_answer(
    form: Form, outcome: Outcome, text: str, figures: Iterable[PerformanceFigure] = ()
) -> str:
    """Return the first line; empty if Slurm asks and there is nothing to report.

    Signs with a meaning to a scheduler, a shell or a monitor become question marks.
    """
    text = make_plain(text)
    if form == "slurm":
        return "" if outcome is Outcome.PASS else f"{_cut(text, MOST_OCTETS[form])} {TAG}"
    if form == "npd":
        return _cut(text, MOST_OCTETS[form])
    if form == "nagios":
        word = _NAGIOS[STATUSES[form][outcome]]
        data = " ".join(map(_format_figure, figures))
        return f"FABRICGAUGE {word} - {text}{f' | {data}' if data else ''}"
    return f"{outcome.value}: {text}"


def make_plain(text: str) -> str:
    """Return the text in one line, with a question mark for each sign that is not allowed."""
    words = " ".join(text.translate(_WORDS).split())
    return "".join(sign if sign in _ALLOWED else "?" for sign in words)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _format_figure(figure: PerformanceFigure) -> str:
    label = make_plain(figure.label).replace("=", "?")
    return f"'{label}'={figure.value:.10g}{figure.unit}"


def find_form(words: Sequence[str], environment: Mapping[str, str]) -> Form:
    """Return the form that a command line or its variable asks for; plain if none or unknown."""
    value = environment.get(f"FABRICGAUGE_{words[0].upper()}_FOR", "") if words else ""
    for number, word in enumerate(words):
        name, equals, text = word.partition("=")
        if name == "--for":
            value = text if equals else "".join(words[number + 1 : number + 2])
            break
    return next((form for form in FORMS if form == value), "plain")
