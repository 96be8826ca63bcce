import pytest
from tests.nodes.discover.printouts.reading import parse, raw, read

from fabricgauge.model.inventory import Stack


@pytest.mark.parametrize(
    ("case", "stack"),
    [
        ("openmpi-4.1.4--mpirun", Stack("openmpi", "4.1.4", "")),
        ("openmpi-4.1.4--mpirun-name", Stack("openmpi", "4.1.4", "")),
        ("mpich-4.0.2--hydra", Stack("mpich", "4.0.2", "")),
        ("mpich-4.0.2--mpichversion", Stack("mpich", "4.0.2", "/usr")),
        ("mpich-5.0.2--mpichversion", Stack("mpich", "5.0.2", "")),
        ("intelmpi-2021.18--hydra", Stack("intelmpi", "2021.18.1", "")),
    ],
)
def test_each_mpi_says_its_version(case: str, stack: Stack) -> None:
    assert read("mpi_version", case).stacks == (stack,)


@pytest.mark.parametrize(
    ("line", "kind"),
    [("prterun (PRRTE) 3.0.13", "prrte"), ("MVAPICH Version:\t3.0", "mvapich"),
     ("MVAPICH2 Version:     \t2.3.7", "mvapich")],
)  # fmt: skip
def test_descendants_have_names_of_their_own(line: str, kind: str) -> None:
    assert [one.kind for one in parse("mpi_version", line).stacks] == [kind]


def test_open_mpi_lists_what_chooses_the_network() -> None:
    parts = read("ompi_info", "4.1--parsable")
    assert parts.stacks == (Stack("openmpi", "4.1.4", "/usr"),)
    components = parts.facts["openmpi components"].split()
    assert {"pml:ucx", "btl:tcp", "mtl:psm2", "osc:rdma"} <= {*components}
    assert not any(one.startswith("coll:") for one in components)


def test_open_mpis_text_says_what_its_parsable_form_does() -> None:
    parts = read("ompi_info", "5.0--text")
    assert parts.stacks == (Stack("openmpi", "5.0.3", "/opt/openmpi-5.0.3"),)
    assert parts.facts == {"openmpi components": "btl:ofi btl:tcp pml:ucx"}


def test_providers_are_listed_with_the_domains_they_found() -> None:
    stacks = read("fi_info", "1.17--verbs").stacks
    assert Stack("ofi verbs;ofi_rxm", "117.0", "rxea rxeb") in stacks
    assert read("fi_info", "1.17--verbs-v").stacks == (
        Stack("ofi verbs", "117.0", "siwa siwb"), Stack("ofi verbs;ofi_rxm", "117.0", "siwa siwb"),
    )  # fmt: skip


def test_what_was_built_has_no_domain() -> None:
    stacks = read("fi_info", "1.17--list").stacks
    assert stacks[0] == Stack("ofi psm2", "117.0", "")
    assert len(stacks) == 15
    assert read("fi_info", "1.17--version").stacks == (Stack("libfabric", "1.17.0", ""),)


def test_ucx_lists_transports_with_their_devices() -> None:
    stacks = read("ucx_info", "1.13--rxe-d").stacks
    assert Stack("ucx rc_verbs", "", "rxea:1 rxeb:1") in stacks
    assert "ucx rc_verbs" not in {one.kind for one in read("ucx_info", "1.13--tcp-d").stacks}


@pytest.mark.parametrize(
    ("case", "stack"),
    [("1.13--version", Stack("ucx", "1.13.1", "")),
     ("1.16--version", Stack("ucx", "1.16.0", "/usr/lib64/libucs.so.0"))],
)  # fmt: skip
def test_ucx_says_its_version(case: str, stack: Stack) -> None:
    assert read("ucx_info", case).stacks == (stack,)


def test_a_printout_that_stops_in_its_middle_gives_what_it_held() -> None:
    text = raw("fi_info", "1.17--verbs-v")
    assert parse("fi_info", text[: len(text) // 2]).stacks[0].kind == "ofi verbs"
