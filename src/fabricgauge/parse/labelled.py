"""Output of many tasks in which each line begins with its task's number, as of ``srun --label``."""

import re
from collections.abc import Iterable

_LABEL = re.compile(r"\s*(\d+):(?: |$)")


def by_task(lines: Iterable[str]) -> dict[int, list[str]]:
    """Each task's own lines without their label; a line that has none is left out."""
    found: dict[int, list[str]] = {}
    for line in lines:
        label = _LABEL.match(line)
        if label:
            found.setdefault(int(label[1]), []).append(line[label.end() :])
    return found
