"""Logs as they arrive from mails, terminals, editors and web pages: the same figures, or fewer."""

import re
import textwrap
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import FIXTURES, found

Damage = Callable[[str], str]
Figures = Counter[tuple[str, str, int | None, float]]

LOGS = {
    name: (FIXTURES / f"{name}.out").read_text(encoding="utf-8")
    for name in (
        "osu/7.4--latency-default", "osu/7.4--allreduce-full", "osu/7.4--mbw-mr-window-matrix",
        "imb/2021.11--p2p-pingpong", "imb/2018--mpi1", "perftest/4.5--write-lat-all-sizes",
        "perftest/4.5--json-send-lat", "iperf3/3.12--text-four-streams", "iperf3/3.12--json",
        "iperf3/3.12--text-server", "iperf2/2.1.8--text", "nccl-tests/2.9.0--all-reduce",
        "netperf/2.7--tcp-rr", "sockperf/3.7--udp-throughput", "qperf/0.4.11--sizes",
        "netpipe/3.7.2--mpich-quick", "mpigraph/1.5--three-ranks",
        "nxnlatbw/2005--six-ranks",
        "ibv_pingpong/44--srq-client", "ucc_perftest/1.5--allreduce-bus", "reframe/4.5--osu-bw",
        "superbench/results-summary",
    )
}  # fmt: skip


def figures(text: str) -> Figures:
    curves, _ = found(text.encode())
    return Counter(
        (curve.suite, curve.quantity, point.message_bytes, point.estimate.value)
        for curve in curves
        for point in curve.points
    )


CLEAN = {name: figures(text) for name, text in LOGS.items()}


def each_line(change: Callable[[int, str], str]) -> Damage:
    return lambda text: "\n".join(change(i, line) for i, line in enumerate(text.split("\n"), 1))


def before(front: str) -> Damage:
    return each_line(lambda _, line: front + line)


def behind(end: str) -> Damage:
    return each_line(lambda _, line: line + end)


def at_second(form: str) -> Damage:
    return each_line(lambda i, line: form.format(f"13:{i // 60 % 60:02}:{i % 60:02}") + line)


def replaced(pattern: str, new: str) -> Damage:
    return each_line(lambda _, line: re.sub(pattern, new, line))


def noted(note: str) -> Damage:
    """A note behind some of the rows."""
    return each_line(
        lambda i, line: line.rstrip() + note if i % 3 == 1 and re.match(r"\s*[\d[]", line) else line
    )


def wrapped(text: str) -> str:
    return "\n".join("\n".join(textwrap.wrap(line, 72)) for line in text.split("\n"))


#: What takes no figure away.
HARMLESS: dict[str, Damage] = {
    "quoted": before("> "),
    "quoted twice": before("> > "),
    "quoted, indented": before("  > "),
    "blanks behind": behind("   "),
    "blank that does not break behind": behind("\N{NO-BREAK SPACE}"),
    "nothing behind": each_line(lambda _, line: line.rstrip()),
    "CR LF": behind("\r"),
    "no-break blanks": lambda text: text.replace("  ", " \N{NO-BREAK SPACE}"),
    "coloured": each_line(lambda _, line: f"\x1b[0;32m{line}\x1b[0m"),
    "coloured, as cat -v shows it": each_line(lambda _, line: f"^[[32m{line}^[[0m"),
    "figures coloured": replaced(r"(\d+)", "\x1b[01;31m\x1b[K\\1\x1b[m\x1b[K"),
    "cat -n": each_line(lambda i, line: f"{i:6}\t{line}"),
    "part of cat -n": each_line(lambda i, line: f"{i + 40:6}\t{line}"),
    "cat -n without blanks behind": each_line(lambda i, line: f"{i:6}\t{line}".rstrip()),
    "ISO": at_second("2026-11-26T{}.123456Z "),
    "date and time": at_second("2026-11-26 {} "),
    "date and time in brackets": at_second("[2026-11-26 {}] "),
    "time": at_second("{} "),
    "month": at_second("Nov 26 {} "),
    "year at the end": at_second("Thu Nov 26 {} 2026 "),
    "system log": at_second("Nov 26 {} c1 run[4711]: "),
    "seconds": each_line(lambda i, line: f"[{i * 1.5:12.6f}] {line}"),
    "host behind a time": at_second("2026-11-26T{}+01:00 c1: "),
    "rank behind a time": at_second("{} [0] "),
    "entities": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
    "host": before("c1: "),
    "host, indented": before("   c1: "),
    "host and rank": before("c1: [0] "),
    "rank, indented": before("    [0] "),
    "task, indented": before("    0: "),
    "tag, indented": before("  [1,0]<stdout>:"),
    "title of iperf3": before("my run 7:  "),
    "rank, quoted": before("> [0] "),
    "rank behind a number": each_line(lambda i, line: f"{i:6}\t[0] {line}"),
    "no empty lines": replaced(r"^$", " "),
    "byte-order mark": lambda text: f"\ufeff{text}",
    "fence": lambda text: f"```\n{text}\n```\n",
}

#: What may take figures away, so that fewer are read, or none.
HARMFUL: dict[str, Damage] = {
    "indented by 2": before("  "),
    "indented by 4": before("    "),
    "indented by 8": before(8 * " "),
    "indented by a tab": before("\t"),
    "nothing in front": each_line(lambda _, line: line.lstrip()),
    "tabs for blanks": replaced("  +", "\t"),
    "blanks for tabs": each_line(lambda _, line: line.expandtabs()),
    "one blank for several": replaced("[ \t]+", " "),
    "numbered": each_line(lambda i, line: f"{i:6}  {line}"),
    "grep -n": each_line(lambda i, line: f"{i}:{line}"),
    "numbers with a colon": each_line(lambda i, line: f"{i}: {line}"),
    "typographic quotes": replaced(r'"([^"]*)"', "\u201c\\1\u201d"),
    "headings without #": replaced("^# ", ""),
    "escaped headings": replaced("^#", r"\\#"),
    "empty lines between": replaced("$", "\n"),
    "wrapped": wrapped,
    "note with an arrow": noted("  <- at 4 MiB"),
    "note": noted(" (best)"),
    "table of a page": before("| "),
    "list": before("* "),
}


@pytest.mark.parametrize("damage", HARMLESS)
def test_the_same_figures_are_read_from_a_log_that_lost_nothing(damage: str) -> None:
    for name, text in LOGS.items():
        assert figures(HARMLESS[damage](text)) == CLEAN[name], name


@pytest.mark.parametrize("damage", HARMFUL)
def test_no_other_figure_is_read_from_a_log_that_lost_something(damage: str) -> None:
    for name, text in LOGS.items():
        assert figures(HARMFUL[damage](text)) <= CLEAN[name], name


@pytest.mark.parametrize("damage", [
    "indented by 4", "indented by a tab", "tabs for blanks", "one blank for several", "grep -n",
    "numbered", "numbers with a colon", "headings without #", "escaped headings", "note",
    "note with an arrow",
])  # fmt: skip
@pytest.mark.parametrize("name", [
    "osu/7.4--latency-default", "imb/2021.11--p2p-pingpong", "perftest/4.5--write-lat-all-sizes",
    "iperf3/3.12--text-four-streams", "nccl-tests/2.9.0--all-reduce",
])  # fmt: skip
def test_the_usual_suites_are_read_whole_all_the_same(damage: str, name: str) -> None:
    if not (damage == "note" and name.startswith("iperf3/")):
        assert figures(HARMFUL[damage](LOGS[name])) == CLEAN[name]


#: What is wrapped once more behind labels may lose what a row is of.
STACKED = sorted((HARMLESS | HARMFUL).keys() - {"wrapped"})


@given(
    st.sampled_from(sorted(LOGS)),
    st.lists(st.sampled_from(STACKED), max_size=3, unique=True),
)
def test_no_other_figure_is_read_however_often_a_log_is_handed_on(
    name: str, damages: list[str]
) -> None:
    text = LOGS[name]
    for damage in damages:
        text = (HARMLESS | HARMFUL)[damage](text)
    assert figures(text) <= CLEAN[name]
