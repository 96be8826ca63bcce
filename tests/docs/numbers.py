"""Every number that decides a verdict, with its origin, as docs/development/numbers.md has it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fabricgauge.judge.thresholds import BUILT_IN

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fabricgauge"
PAGE = ROOT / "docs" / "development" / "numbers.md"
#: Rooms whose numbers decide; a ceiling's numbers are sums that reports show step by step.
ROOMS = ("judge", "compare")
LEFT_OUT = ("judge/ceiling/", "judge/thresholds.py")


class Number(NamedTuple):
    """One constant of a module: ``text`` is the Python expression, ``origin`` its comment."""

    file: str
    name: str
    text: str
    origin: str


def numbers() -> Iterator[Number]:
    """Yield the numeric constants of all modules that decide, in the order of files and lines."""
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            file = path.relative_to(SOURCE).as_posix()
            if not file.startswith(LEFT_OUT):
                yield from numbers_of(file, path.read_text(encoding="utf-8"))


def numbers_of(file: str, source: str) -> Iterator[Number]:
    """Yield the numeric constants of one module."""
    lines = source.splitlines()
    origin, last = "", 0
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        if node.value is None or not _is_numeric(node.value):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        name = ", ".join(ast.unparse(target) for target in targets).strip("()")
        if not name.replace(", ", "").replace("_", "").isupper():
            continue
        comment = _comment_above(lines, node.lineno)
        # A comment also holds for the constants that follow it without a gap.
        origin = comment or (origin if node.lineno == last + 1 else "")
        last = node.end_lineno or node.lineno
        yield Number(file, name, ast.unparse(node.value), origin)


def _is_numeric(value: ast.expr) -> bool:
    leaves = [node for node in ast.walk(value) if isinstance(node, ast.Constant)]
    kinds = (ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
             ast.expr_context)  # fmt: skip
    return (
        bool(leaves)
        and all(isinstance(node, kinds) for node in ast.walk(value))
        and all(
            isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool)
            for leaf in leaves
        )
    )


def _comment_above(lines: list[str], number: int) -> str:
    words: list[str] = []
    for line in reversed(lines[: number - 1]):
        if not line.startswith("#:"):
            break
        words.insert(0, line.removeprefix("#:").strip())
    return " ".join(words)


def page() -> str:
    """Return the page of all numbers that decide."""
    rows = [
        f"| `{name}` | {limit.value:g} {limit.unit} | {_cell(limit.origin)} |"
        for name, limit in sorted(BUILT_IN.items())
    ]
    text = (
        "# Numbers that decide\n\n"
        "`scripts/write-numbers` writes this page from the code; a test keeps them equal.\n\n"
        "## Thresholds of the rules\n\n"
        "A site file or configuration file sets them, see"
        " [configuration](../reference/configuration.md#thresholds).\n\n"
        "| threshold | built-in | origin |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )
    file = ""
    for number in numbers():
        if number.file != file:
            file = number.file
            text += f"\n## `{file}`\n\n| constant | value | meaning and origin |\n|---|---|---|\n"
        text += f"| `{number.name}` | `{number.text}` | {_cell(number.origin)} |\n"
    return text


def _cell(words: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", words).replace("|", "\\|")
