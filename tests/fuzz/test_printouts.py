"""Broken printouts in the test suite; a great many with ``python -m tests.fuzz.printouts``."""

import pytest
from hypothesis import settings
from tests.fuzz import printouts

from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.printouts.table import PARSERS

SEED = 7
#: 300, and fewer or more as the profile has it.
INPUTS = 3 * settings().max_examples


@pytest.mark.parametrize("name", printouts.NAMES)
def test_broken_printouts_are_read(name: str) -> None:
    done = printouts.tried(name, SEED, INPUTS)
    assert (done.inputs, done.faults) == (INPUTS, {})


def test_every_parser_is_tried() -> None:
    assert {PARSERS[name] for name in printouts.NAMES} == {*PARSERS.values()}
    assert all(printouts.recorded(name) for name in printouts.NAMES)


def test_an_input_depends_on_its_seed_and_number_alone() -> None:
    inputs = [printouts.input_of("lshw", SEED, number) for number in range(200)]
    assert inputs == [printouts.input_of("lshw", SEED, number) for number in range(200)]
    assert len(set(inputs)) > 190


def test_a_parser_that_raises_or_invents_figures_is_complained_of() -> None:
    def raising(text: str, argument: str) -> Parts:
        raise KeyError(text)

    assert "KeyError" in next(printouts.complaints(raising, "x", ""))
    known = PARSERS["ip route"]
    assert list(printouts.complaints(known, "10.0.0.0/8 dev e metric 1\n", "")) == []


def test_the_command_tells_of_each_parser(capsys: pytest.CaptureFixture[str]) -> None:
    assert printouts.main(["--inputs", "5", "--only", "lshw", "opainfo"]) == 0
    assert capsys.readouterr().out.count("0 faults") == 2
