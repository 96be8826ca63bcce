"""What Slurm is told follows from the nodes alone, and a name is never anything but a name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.slurm_lab.cluster import CGROUP_CONF, check_names, slurm_conf
from fabricgauge.lab.spec import address
from fabricgauge.model.errors import LabError

SIZE = (4, 1000)

names = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]", fullmatch=True).filter(
    lambda name: name.lower() not in ("all", "default", "none")
)


def settings(text: str) -> list[tuple[str, str]]:
    """The words KEY=VALUE of slurm.conf as slurm.conf(5) defines them, in order."""
    words = [word for line in text.splitlines() for word in line.split()]
    return [(key, value) for key, _, value in (word.partition("=") for word in words)]


def test_controller_nodes_and_partition_are_the_labs() -> None:
    lines = slurm_conf(("c1", "c2"), *SIZE, "pmix").splitlines()
    assert "SlurmctldHost=head(10.77.0.1)" in lines
    assert lines[-4:] == [
        "MpiDefault=pmix",
        "NodeName=c1 NodeAddr=10.77.0.11 CPUs=4 RealMemory=1000 State=UNKNOWN",
        "NodeName=c2 NodeAddr=10.77.0.12 CPUs=4 RealMemory=1000 State=UNKNOWN",
        "PartitionName=normal Nodes=c1,c2 Default=YES MaxTime=INFINITE State=UP",
    ]


def test_no_cgroup_is_used_and_nothing_lies_outside_the_labs_mounts() -> None:
    found = dict(settings(slurm_conf(("c1",), *SIZE, "none")))
    assert (found["ProctrackType"], found["TaskPlugin"]) == ("proctrack/linuxproc", "task/none")
    assert "CgroupAutomount=no" in CGROUP_CONF
    paths = {value for value in found.values() if value.startswith("/")}
    kept = {path for path in paths if path.startswith("/run/slurm/")}
    assert paths - kept == {"/dev/shm", "/bin/true"}


def test_no_setting_is_given_twice() -> None:
    keys = [key for key, _ in settings(slurm_conf(("c1",), *SIZE, "none"))]
    once = [key for key in keys if key not in ("State",)]
    assert len(once) == len(set(once))


@given(st.lists(names, min_size=1, max_size=8, unique_by=str.lower))
def test_every_node_is_defined_once_with_its_address_in_the_first_network(nodes: list[str]) -> None:
    found = settings(slurm_conf(nodes, *SIZE, "pmi2"))
    assert [value for key, value in found if key == "NodeName"] == nodes
    assert [value for key, value in found if key == "NodeAddr"] == [
        address(0, number) for number in range(1, len(nodes) + 1)
    ]
    assert dict(found)["Nodes"].split(",") == nodes


@given(st.text(min_size=1, max_size=70))
def test_a_name_is_refused_or_is_one_word_without_signs(name: str) -> None:
    try:
        text = slurm_conf((name,), *SIZE, "none")
    except LabError:
        return
    assert re.fullmatch("[A-Za-z0-9-]+", name)
    assert text.count("\n") == slurm_conf(("c1",), *SIZE, "none").count("\n")


@pytest.mark.parametrize(
    "name",
    ["c[1-2]", "c1,c2", "c1;touch${IFS}x", "$(id)", "c1\nSlurmUser=x", "a=b", "c1.cluster", "1",
     "c1-", "c_1", "ALL", "default", "None", "a" * 64],
)  # fmt: skip
def test_names_fail_when_slurm_would_not_take_them_for_one_node(name: str) -> None:
    with pytest.raises(LabError, match="cannot name a node of a lab with Slurm"):
        check_names(("c1", name))
