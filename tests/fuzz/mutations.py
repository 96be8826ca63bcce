"""Broken logs made from recorded ones: what disks, launchers, editors and bad luck do to them."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

FIXTURES = Path(__file__).parents[1] / "fixtures"
SUFFIXES = (".out", ".json", ".txt")
#: Most inputs are no longer, so that a million of them can be tried.
USUAL_BYTES = 1200
MOST_BYTES = 4096
LARGEST_BYTES = 1 << 19

Lines = list[bytes]
Mutation = Callable[[Random, Lines], Lines]

#: Numbers that no benchmark prints, or that only a broken one does.
NUMBERS: tuple[bytes, ...] = (
    b"inf", b"-inf", b"nan", b"-nan", b"NaN", b"Infinity", b"-1", b"-0", b"0", b"0.00", b"1e999",
    b"-1e999", b"1e-999", b"1e308", b"5e-324", b"9" * 18, b"9" * 19, b"9" * 400, b"9" * 5000,
    b"1" + b"0" * 400, b"18446744073709551616", b"9223372036854775808", b"4294967296", b"1_000",
    b"0x10", b"1,5", b"1..2", b"1.2.3", b".", b"-", b"", b"null", b"true", b'"x"', b"[]", b"{}",
    "٣".encode(), "²".encode(), "１２".encode(), "½".encode(), b"1.7e", b"+1", b"00012", b"1e5",
)  # fmt: skip
TEXTS: tuple[bytes, ...] = (
    b"\x00", b"\xff\xfe", b"\r", b"\x0c", b"\x85", b"\t", b" ", b"\x1b[31m", b"\x1b[", b"%", b"\\",
    b'"', b"'", b"`", b"```", b"#", b"|", b"[", b"]", b"{", b"}", b"(", b")", b":", b",", b"<b>",
    "\u2028".encode(), "\ufeff".encode(), "İ".encode(), "\U0001f4a9".encode(), b"\\ud800",
    b"\\u0000", b"\xed\xa0\x80", b"]]>", b"$(x)",
)  # fmt: skip
LABELS: tuple[bytes, ...] = (
    b"[1,0]<stdout>:", b"[1,0]<stderr>: ", b"[0] ", b"[1] ", b"0: ", b" 1: ", b"c1: ",
    b"node-7.x: ", b"c1:", b"> ", b"2026-11-22T10:00:00 ", b"    ",
)  # fmt: skip
NOISE: tuple[bytes, ...] = (
    b"[c1:04711] mca: base: component_find: unable to open mca_btl_openib (ignored)\n",
    b"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0\n",
    b"c1:1:2 [0] NCCL INFO Channel 00/02 : 0 1 via NET/IB/0\n",
    b"----------------------------------------\n", b"# a comment\n", b"\n", b"{\n", b"}\n", b"[\n",
    b'{"a": 1}\n', b"1 2 3\n", b"Segmentation fault (core dumped)\n", b"# fabricgauge: a remark\n",
)  # fmt: skip
_NUMBER = re.compile(rb"\d[\d.]*")
#: What is made longer, in turn, until a reader that takes too long is found.
_GROWTHS = (1_000, 10_000, 60_000)


def corpus() -> tuple[Lines, ...]:
    """Every recorded output as its lines, in a fixed order."""
    recorded = (path for path in FIXTURES.rglob("*") if "runs" not in path.parts)
    paths = sorted(path for path in recorded if path.suffix in SUFFIXES)
    return tuple(path.read_bytes().splitlines(keepends=True) for path in paths if path.is_file())


def broken(random: Random, recorded: Sequence[Lines]) -> bytes:
    """One input. The same generator in the same state makes the same one."""
    lines = _part(random, random.choice(recorded))
    if random.random() < 0.25:
        lines = _mixed(random, lines, _part(random, random.choice(recorded)))
    for _ in range(random.choice((0, 1, 1, 2, 3, 5))):
        lines = random.choice(MUTATIONS)(random, lines)
    content = b"".join(lines)[:MOST_BYTES]
    if random.random() < 0.2 and content:
        content = content[: random.randrange(len(content))]
    return _grown(random, content) if random.random() < 0.001 else content


def _part(random: Random, lines: Lines) -> Lines:
    """A whole short log, or some lines of it with their heading or without it."""
    if sum(map(len, lines)) <= random.choice((USUAL_BYTES, MOST_BYTES)):
        return list(lines)
    first = 0 if random.random() < 0.6 else random.randrange(len(lines))
    part, size = Lines(), 0
    for line in lines[first:]:
        size += len(line)
        if size > USUAL_BYTES:
            break
        part.append(line)
    return part


def _mixed(random: Random, one: Lines, other: Lines) -> Lines:
    place = random.randrange(len(one) + 1)
    if random.random() < 0.5:
        return one[:place] + other + one[place:]
    pairs = [(random.random(), line) for line in other]
    return [line for _, line in sorted([*pairs, *((random.random(), line) for line in one)])]


def _byte(random: Random, lines: Lines) -> Lines:
    def change(line: bytes) -> bytes:
        place = random.randrange(len(line))
        return line[:place] + bytes([random.randrange(256)]) + line[place + 1 :]

    return _changed(random, lines, change)


def _text(random: Random, lines: Lines) -> Lines:
    def change(line: bytes) -> bytes:
        place = random.randrange(len(line))
        return line[:place] + random.choice(TEXTS) + line[place:]

    return _changed(random, lines, change)


def _number(random: Random, lines: Lines) -> Lines:
    def change(line: bytes) -> bytes:
        found = list(_NUMBER.finditer(line))
        if not found:
            return line
        match = random.choice(found)
        return line[: match.start()] + random.choice(NUMBERS) + line[match.end() :]

    return _changed(random, lines, change)


def _word(random: Random, lines: Lines) -> Lines:
    """A word is lost, doubled, or changes places with another one."""

    def change(line: bytes) -> bytes:
        words = re.split(rb"(\s+)", line)
        here, there = random.randrange(len(words)), random.randrange(len(words))
        action = random.randrange(3)
        if action == 0:
            del words[here]
        elif action == 1:
            words.insert(here, words[there])
        else:
            words[here], words[there] = words[there], words[here]
        return b"".join(words)

    return _changed(random, lines, change)


def _changed(random: Random, lines: Lines, change: Callable[[bytes], bytes]) -> Lines:
    filled = [place for place, line in enumerate(lines) if line]
    if not filled:
        return lines
    place = random.choice(filled)
    return [*lines[:place], change(lines[place]), *lines[place + 1 :]]


def _lost(random: Random, lines: Lines) -> Lines:
    place = random.randrange(len(lines) + 1)
    return lines[:place] + lines[place + random.choice((1, 1, 2, 5)) :]


def _doubled(random: Random, lines: Lines) -> Lines:
    place = random.randrange(len(lines) + 1)
    some = lines[place : place + random.choice((1, 1, 3, 10))]
    return lines[:place] + some * random.choice((2, 2, 3)) + lines[place + len(some) :]


def _swapped(random: Random, lines: Lines) -> Lines:
    if not lines:
        return lines
    swapped = list(lines)
    here, there = random.randrange(len(lines)), random.randrange(len(lines))
    swapped[here], swapped[there] = swapped[there], swapped[here]
    return swapped


def _disturbed(random: Random, lines: Lines) -> Lines:
    place = random.randrange(len(lines) + 1)
    return [*lines[:place], random.choice(NOISE), *lines[place:]]


def _labelled(random: Random, lines: Lines) -> Lines:
    labels = random.sample(LABELS, random.choice((1, 1, 2)))
    return [random.choice(labels) + line for line in lines]


def _ended_otherwise(random: Random, lines: Lines) -> Lines:
    end = random.choice((b"\r\n", b"\r", b" \n", b""))
    return [line.rstrip(b"\n") + end for line in lines]


MUTATIONS: tuple[Mutation, ...] = (
    _byte, _byte, _text, _number, _number, _number, _word, _word, _lost, _lost, _doubled,
    _swapped, _disturbed, _labelled, _ended_otherwise,
)  # fmt: skip


def _grown(random: Random, content: bytes) -> bytes:
    """One piece many times over: a long line, many lines, or brackets deep in each other."""
    times = random.choice(_GROWTHS)
    start = random.randrange(len(content) + 1)
    piece = content[start : start + random.choice((1, 2, 8, 60))]
    piece = random.choice((piece, piece, random.choice(TEXTS), b"[", b'{"a":', b'{"start":', b" "))
    piece = piece * min(times, LARGEST_BYTES // max(1, len(piece)))
    return content[:start] + piece + content[start:]
