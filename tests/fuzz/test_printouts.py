"""Every parser of printouts is tried, each time with the same inputs."""

from tests.fuzz import printouts

from fabricgauge.nodes.discover.printouts.table import PARSERS

SEED = 7


def test_every_parser_is_tried() -> None:
    assert {PARSERS[name] for name in printouts.NAMES} == {*PARSERS.values()}
    assert all(printouts.recorded(name) for name in printouts.NAMES)


def test_an_input_depends_on_its_seed_and_number_alone() -> None:
    inputs = [printouts.input_of("lshw", SEED, number) for number in range(200)]
    assert inputs == [printouts.input_of("lshw", SEED, number) for number in range(200)]
    assert len(set(inputs)) > 190


def test_a_sound_printout_is_not_complained_of() -> None:
    assert list(printouts.complaints(PARSERS["ip route"], "10.0.0.0/8 dev e metric 1\n", "")) == []
