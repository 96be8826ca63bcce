"""Pages of ceilings: the sums are the program's own, the tables are complete."""

import re
from pathlib import Path

import pytest

from fabricgauge.judge.ceiling import capacity, ethernet, infiniband, unframed
from fabricgauge.judge.ceiling import unframed as slingshots
from fabricgauge.judge.ceiling.stated import OPTIONS, known_names, stated_network
from fabricgauge.judge.ceiling.technologies import TECHNOLOGIES, ceiling
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.words.figures import with_unit

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "reference/ceilings.md").read_text(encoding="utf-8")
DERIVED = (DOCS / "development/ceilings.md").read_text(encoding="utf-8")
SUMS = dict(
    re.findall(r"^```text\nnetwork: ([^\n]+)\n(.*?)^```$", DERIVED, re.MULTILINE | re.DOTALL)
)
#: A row of the table of families: a statement, its ceiling, and the share of the line rate.
EXAMPLE = re.compile(r"\| `([^`]+)`: ([\d,.]+) MB/s \| ([\d.]+) % \|")


def shown(statement: str) -> str:
    """The sum as ``fabricgauge discover`` prints that of a network."""
    found = ceiling(stated_network(statement))
    assert isinstance(found, Ceiling)
    lines = [f"{s.label}: {s.expression} = {with_unit(s.value, s.unit)}" for s in found.steps]
    return "".join(f"{line}\n" for line in [*lines, f"bound by {found.binding}"])


@pytest.mark.parametrize("statement", SUMS)
def test_sum_on_the_page_is_the_one_that_is_worked_out(statement: str) -> None:
    assert SUMS[statement] == shown(statement)


@pytest.mark.parametrize(("statement", "rate", "share"), EXAMPLE.findall(PAGE))
def test_an_example_of_the_table_is_worked_out(statement: str, rate: str, share: str) -> None:
    result = ceiling(stated_network(statement))
    assert isinstance(result, Ceiling)
    assert f" = {rate} MB/s per direction\n" in shown(statement)
    (payload_share,) = [step for step in result.steps if step.label == "payload share of the wire"]
    assert 100 * payload_share.value == pytest.approx(float(share), abs=0.051)


def test_every_technology_has_a_sum_on_the_page() -> None:
    nobody_states = {"simulated"}
    stated = {stated_network(statement).technology for statement in SUMS}
    assert stated == set(TECHNOLOGIES) - nobody_states


@pytest.mark.parametrize(
    "name",
    [
        *ethernet.RATES, *infiniband.SPEEDS, *infiniband.OMNI_PATHS, *slingshots.SLINGSHOTS,
        *unframed.EFA_CARDS, *unframed.NVLINKS,
        *(f"PCIe {generation}" for generation in capacity.PCIE_GENERATIONS),
        *(f"CXL {generation}" for generation in unframed.CXLS),
    ],
)  # fmt: skip
def test_every_generation_is_derived(name: str) -> None:
    assert name in DERIVED


@pytest.mark.parametrize(
    "name", [*(f"{option}=" for option in OPTIONS), *known_names(), *TECHNOLOGIES]
)
def test_every_name_and_option_is_on_the_users_page(name: str) -> None:
    assert f"`{name}`" in PAGE
