"""docs/reference/ceilings.md: its sums are the program's own, its tables are complete."""

import re
from pathlib import Path

import pytest

from fabricgauge.judge.ceiling import ethernet, infiniband, pcie, unframed
from fabricgauge.judge.ceiling import unframed as slingshots
from fabricgauge.judge.ceiling.stated import known_names, stated_network
from fabricgauge.judge.ceiling.technologies import CEILINGS, ceiling
from fabricgauge.judge.ceiling.words import OPTIONS
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.medium import FLOORS
from fabricgauge.model.words.figures import with_unit

PAGE = (Path(__file__).parents[3] / "docs/reference/ceilings.md").read_text(encoding="utf-8")
SUMS = dict(re.findall(r"^```text\nnetwork: ([^\n]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def shown(statement: str) -> str:
    """The sum as ``fabricgauge discover`` prints that of a network."""
    found = ceiling(stated_network(statement))
    assert isinstance(found, Ceiling)
    lines = [f"{s.label}: {s.expression} = {with_unit(s.value, s.unit)}" for s in found.steps]
    return "".join(f"{line}\n" for line in [*lines, f"bound by {found.binding}"])


@pytest.mark.parametrize("statement", SUMS)
def test_sum_on_the_page_is_the_one_that_is_worked_out(statement: str) -> None:
    assert SUMS[statement] == shown(statement)


def test_every_technology_has_a_sum_on_the_page() -> None:
    nobody_states = {"simulated"}
    stated = {stated_network(statement).technology for statement in SUMS}
    assert stated == set(CEILINGS) - nobody_states


@pytest.mark.parametrize(
    "name",
    [
        *ethernet.RATES, *infiniband.SPEEDS, *infiniband.OMNI_PATHS, *slingshots.SLINGSHOTS,
        *unframed.EFA_CARDS, *unframed.NVLINKS, *(f"`{o}=`" for o in OPTIONS),
        *(f"PCIe {one}" for one in pcie.GENERATIONS),
        *(f"CXL {one}" for one in unframed.CXLS),
        *(f"`{name}`" for name in known_names()), *(f"`{name}`" for name in FLOORS),
    ],
)  # fmt: skip
def test_every_row_and_name_is_on_the_page(name: str) -> None:
    assert name in PAGE
