from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.engine import by_task

LINES = st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8")), max_size=4)


@given(st.dictionaries(st.integers(0, 999), LINES.filter(bool), max_size=5))
def test_each_task_gets_its_own_lines_back(said: dict[int, list[str]]) -> None:
    labelled = [f"{task:>3}: {line}" for task, lines in said.items() for line in lines]
    assert by_task(labelled) == said


def test_lines_of_nobody_are_left_out() -> None:
    lines = ["srun: error: c2: task 1: Exited", "0: a", "1:", "", "1: 2: b"]
    assert by_task(lines) == {0: ["a"], 1: ["", "2: b"]}
