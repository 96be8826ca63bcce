"""What Slurm 22.05 says is understood; the texts are what it printed in a lab."""

import pytest

from fabricgauge.features.slurm_lab.cluster import parse_mpi_list, parse_present, preferred_mpi

MPI_LIST = """\
MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""


def test_mpi_plugins_are_the_lines_of_one_word() -> None:
    assert parse_mpi_list(MPI_LIST) == {"pmix", "none", "cray_shasta", "pmi2"}
    older = "srun: MPI types are...\nsrun: none\nsrun: pmi2\n"
    assert parse_mpi_list(older) == {"none", "pmi2"}


@pytest.mark.parametrize(
    ("plugins", "chosen"),
    [({"pmix", "pmi2", "none"}, "pmix"), ({"pmi2", "none"}, "pmi2"), (set(), "none")],
)
def test_pmix_is_preferred_to_pmi2_to_none(plugins: set[str], chosen: str) -> None:
    assert preferred_mpi(frozenset(plugins)) == chosen


@pytest.mark.parametrize(
    "state", ["idle", "mix", "alloc", "comp", "drain", "drng", "resv", "maint"]
)
def test_node_is_present_in_every_state_of_a_node_that_answers(state: str) -> None:
    assert parse_present(f"c1 {state}\nc2 {state}*\n") == {"c1"}


@pytest.mark.parametrize("text", ["", "c1 unk\nc2 unk*\n", "c1 down\nc2 down*\n", "c1\n"])
def test_node_is_absent_when_it_is_unknown_down_or_not_shown(text: str) -> None:
    assert parse_present(text) == frozenset()
