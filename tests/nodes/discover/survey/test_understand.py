"""Recorded answers, whole and cut off anywhere."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Inventory
from fabricgauge.nodes.discover.printouts.table import parse_named
from fabricgauge.nodes.discover.survey.understand import ANSWER, build_inventory, explain_unasked

FIXTURES = sorted((Path(__file__).parents[3] / "fixtures" / "survey").glob("*.out"))
RAW = {path.stem: path.read_text("utf-8") for path in FIXTURES}
#: Of this program's machines; others are written after documentation.
RECORDED = [case for case in RAW if not case.startswith("written-")]


def read(raw: str, trouble: str = "", **others: str) -> Inventory:
    return build_inventory("c1", {ANSWER: raw, **others}, trouble, parse_named)


@pytest.mark.parametrize("case", RECORDED)
def test_a_recorded_answer_is_understood_without_trouble(case: str) -> None:
    found = read(RAW[case])
    assert found.troubles == ()
    assert not isinstance(found.node, Skipped)
    assert {"/dev/shm bytes", "memory bytes", "kernel command line"} <= found.facts.keys()
    assert {one.kind for one in found.stacks} == {"openmpi", "mpich"}


def test_the_same_adapter_is_one_whoever_speaks_of_it() -> None:
    bare, named = read(RAW["virtio"]), read(RAW["virtio-lspci"])
    assert [len(one.adapters) for one in (bare, named)] == [1, 1]
    assert bare.adapters[0].product == "1af4:1041"
    assert named.adapters[0].product == "Virtio 1.0 network device"
    assert named.adapters[0].interfaces == ("eth0",)


def test_interrupts_of_a_virtio_device_are_those_of_its_function() -> None:
    assert read(RAW["virtio"]).facts["irqs of eth0"] == "3 on 2 processors"


def test_an_mpi_has_the_path_of_its_program() -> None:
    paths = {one.kind: one.path for one in read(RAW["virtio"]).stacks}
    assert paths["openmpi"] == "/usr/bin/mpirun"


def test_a_printout_beside_an_answer_adds_to_it() -> None:
    other = "CA 'mlx5_0'\n\tFirmware version: 99.1\n\tPort 1:\n\t\tState: Active\n"
    found = read(RAW["made-up-sysfs"], ibstat=other)
    told = [one for one in found.troubles if "99.1" in one]
    assert told == [
        "mlx5_0 0000:ca:00.0: /sys/class/infiniband gives firmware 20.37.1014, ibstat gives 99.1"
    ]


def test_who_gave_no_answer_is_told_apart_from_whom_nobody_asked() -> None:
    assert read("", "c1 could not be reached").node == Skipped("c1 could not be reached")
    assert build_inventory("c1", {}, "", parse_named).node == explain_unasked("c1")
    greeting = read("Welcome\n== standard error\nssh: closed", "c1 could not be reached: closed")
    assert greeting.node == Skipped("c1 could not be reached: closed")
    assert greeting.sources == ()


def test_an_old_answer_of_the_quick_probe_alone_gives_the_node() -> None:
    raw = RAW["virtio"]
    found = read(raw[: raw.index("== fabricgauge-survey 1")])
    assert not isinstance(found.node, Skipped)
    assert found.facts["answer"] == "cut off"


@given(st.sampled_from(sorted(RAW)), st.floats(0, 1), st.text(max_size=20))
def test_an_answer_that_ends_anywhere_is_read_as_far_as_it_goes(
    case: str, share: float, rest: str
) -> None:
    raw = RAW[case][: int(len(RAW[case]) * share)] + rest
    found = read(raw, "c1 did not finish")
    assert found.troubles
    whole = read(RAW[case])
    assert {one.bus for one in found.adapters} <= {one.bus for one in whole.adapters}
    assert msgspec.json.decode(msgspec.json.encode(found), type=Inventory) == found
