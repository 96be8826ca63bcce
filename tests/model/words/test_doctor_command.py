"""The command that looks for causes names the nodes as the run did."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.model.words.sentences import doctor


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("fabricgauge", "check", "--lab", "half", "-q"), "fabricgauge doctor --lab half"),
        (("fabricgauge", "check", "-w", "c[1-2]"), "fabricgauge doctor -w 'c[1-2]'"),
        (("fabricgauge", "check", "--nodelist=c[1-2]", "--launcher=ssh"),
         "fabricgauge doctor --nodelist 'c[1-2]' --launcher ssh"),
        (("fabricgauge", "check", "--lab", "-N", "2"), "fabricgauge doctor -w c1,c2"),
        (("fabricgauge", "check"), "fabricgauge doctor -w c1,c2"),
        (("fabricgauge",), "fabricgauge doctor -w c1,c2"),
    ],
)  # fmt: skip
def test_doctor_looks_at_the_nodes_of_the_run(command: tuple[str, ...], expected: str) -> None:
    assert doctor(msgspec.structs.replace(planted.run(), command=command)) == expected
