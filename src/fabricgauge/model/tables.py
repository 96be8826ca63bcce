"""Read a table of words that stands as text beside its module."""

from pathlib import Path


def read_table(path: Path, columns: int) -> list[list[str]]:
    """Return the rows of a file, each with so many cells; cells at a row's end may be missing.

    Tabs stand between cells. Lines that begin with # are comments.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [row + [""] * (columns - len(row)) for row in rows]
