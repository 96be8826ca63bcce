"""The code keeps to what Python 3.10 has; ruff and mypy see the syntax and the library."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricgauge.logs.readers.lines import ONCE
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.files import toml

ROOT = Path(__file__).parents[1]


def test_every_tool_holds_the_code_to_the_same_version() -> None:
    project = toml.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["requires-python"] == ">=3.10"
    assert project["tool"]["ruff"]["target-version"] == "py310"
    assert project["tool"]["mypy"]["python_version"] == "3.10"


def patterns() -> Iterator[tuple[Path, str]]:
    """Yield the patterns that the sources state as a plain text."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "import re\n" in text else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re")),
                    args=[ast.Constant(value=str(pattern)), *_],
                ):
                    yield path, pattern


def operators(parsed: Any) -> Iterator[str]:
    """Yield the names of the operators in a parsed pattern."""
    for item in parsed:
        if isinstance(item, tuple) and item and hasattr(item[0], "name"):
            yield item[0].name
        if hasattr(item, "__iter__") and not isinstance(item, str):
            yield from operators(item)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 refuses such patterns itself")
def test_no_pattern_needs_a_newer_python() -> None:
    from re import _parser  # type: ignore[attr-defined]

    newer = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
    assert set(operators(_parser.parse("a++(?>b)"))) >= newer
    found = list(patterns())
    assert len(found) > 200
    for path, pattern in found:
        assert not newer & set(operators(_parser.parse(pattern))), (path, pattern)


def test_repeats_that_give_nothing_back_are_possessive_where_python_can() -> None:
    assert ("+" if sys.version_info >= (3, 11) else "") == ONCE
    assert re.fullmatch(f"a*{ONCE}b", "aab")


def test_outcomes_read_as_their_words() -> None:
    assert f"{Outcome.PASS}" == str(Outcome.PASS) == "PASS"
