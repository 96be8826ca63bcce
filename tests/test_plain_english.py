"""Names, docstrings and pages are plain: what can be counted is counted.

CONTRIBUTING has the rules. Counted are names that the code binds, and phrases per 1,000 words.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fabricgauge"
FOLDERS = sorted(path for path in SOURCE.iterdir() if (path / "__init__.py").exists())

_VAGUE = """
again alike asked begun beside both done each every few found given here kept known left made
meant one ones other others own rest said seen so_far some such taken them there those told
wanted way ways what where which whole
"""
#: Words that do not tell a reader what a value is.
VAGUE = frozenset(_VAGUE.split())
#: Words that are never the name of a value, but for fields of stored and printed values.
NEVER = frozenset(
    ["one", "said", "told", "found", "there", "seen", "made", "taken", "own", "each", "alike"]
)
STORED = {
    "model/pairs.py": {"one", "own"},
    "model/preflight.py": {"told", "said", "alike"},
    "report/document.py": {"alike"},
}
#: Phrases, and how often each may stand in 1,000 words of docstrings and comments, and of pages.
PHRASES = {
    "a file or word that speaks": (r"\b(?:tell|tells|told|say|says|said)\b", 0.5, 1.5),
    "a sentence that begins with Of": (
        r"(?:^|[.;:] )Of (?:a|an|the|others|several|more|many|those|that|two|each)\b", 0.05, 0.3,
    ),
    "nobody, somebody, whoever": (r"\b(?:nobody|somebody|whoever|everybody)\b", 0.1, 0.4),
    "a sentence that begins with What": (r"(?:^|[.;] )What (?:is|was|a|the|follows)\b", 0.1, 0.3),
}  # fmt: skip


def trees(folder: Path) -> Iterator[ast.Module]:
    for path in sorted(folder.rglob("*.py")):
        yield ast.parse(path.read_text("utf-8"))


def bound_names(folder: Path) -> Counter[str]:
    """Count the names that assignments, loops and parameters bind."""
    return sum(map(bound_names_of, sorted(folder.rglob("*.py"))), Counter[str]())


def bound_names_of(path: Path) -> Counter[str]:
    names: Counter[str] = Counter()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
    return names


def prose(folder: Path) -> Iterator[str]:
    """Yield docstrings and comments."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for tree in trees(folder):
        for node in ast.walk(tree):
            if isinstance(node, documented) and (text := ast.get_docstring(node)):
                yield text
    for path in sorted(folder.rglob("*.py")):
        for line in path.read_text("utf-8").splitlines():
            if comment := re.match(r"\s*#:? (.*)", line):
                yield comment[1]


def rate(pattern: str, texts: list[str]) -> float:
    """Return how often the pattern stands in 1,000 words."""
    words = sum(len(text.split()) for text in texts)
    hits = sum(len(re.findall(pattern, text, re.MULTILINE)) for text in texts)
    return 1000.0 * hits / words


def test_names_are_nouns_of_the_field() -> None:
    names = bound_names(SOURCE)
    vague = {name: count for name, count in names.items() if name in VAGUE}
    assert sum(vague.values()) <= 0.01 * names.total(), vague


def test_no_value_is_named_by_a_word_that_holds_nothing(tmp_path: Path) -> None:
    named = {
        str(path.relative_to(SOURCE)): vague
        for path in sorted(SOURCE.rglob("*.py"))
        if (vague := NEVER & bound_names_of(path).keys())
    }
    assert named == STORED
    (tmp_path / "a.py").write_text("def f(own):\n    for each in own:\n        pass\n")
    assert NEVER & bound_names_of(tmp_path / "a.py").keys() == {"own", "each"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_no_folder_has_a_language_of_its_own(folder: Path) -> None:
    names = bound_names(folder)
    vague = {name: count for name, count in names.items() if name in VAGUE}
    assert sum(vague.values()) <= 0.03 * names.total(), vague


@pytest.mark.parametrize("phrase", PHRASES)
def test_docstrings_and_comments_are_plain(phrase: str) -> None:
    pattern, most, _ = PHRASES[phrase]
    assert rate(pattern, list(prose(SOURCE))) <= most


@pytest.mark.parametrize("phrase", PHRASES)
def test_pages_are_plain(phrase: str) -> None:
    pattern, _, most = PHRASES[phrase]
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    assert (
        rate(pattern, [re.sub(r"```.*?```", "", page, flags=re.DOTALL) for page in pages]) <= most
    )


def test_a_vague_name_and_a_riddle_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""Of the nodes, nobody says it."""\nfor told in []:\n    pass\n'
    )
    assert bound_names(tmp_path) == {"told": 1}
    texts = list(prose(tmp_path))
    assert {phrase: rate(pattern, texts) > 0 for phrase, (pattern, _, _) in PHRASES.items()} == {
        phrase: "What" not in phrase for phrase in PHRASES
    }


def test_a_function_is_named_by_a_verb() -> None:
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    names = (
        node.name
        for tree in trees(SOURCE)
        for node in ast.walk(tree)
        if isinstance(node, functions)
    )
    assert [name for name in names if name.lstrip("_").startswith("of_")] == []
