"""Emulated processors: path and data are judged, speed is not."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.judge.judging import deciding, overall
from fabricgauge.judge.rules import RULES_OF_SPEED
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome

#: What /proc/cpuinfo of a guest of QEMU 7.2 says with ``-accel tcg -cpu max``.
TCG = "QEMU TCG CPU version 2.5+"


def emulated(run: Run, model: str = TCG) -> Run:
    nodes = tuple(
        msgspec.structs.replace(one, facts={"cpu model": model}) for one in run.fabric.nodes
    )
    return msgspec.structs.replace(run, fabric=msgspec.structs.replace(run.fabric, nodes=nodes))


@pytest.mark.parametrize("fraction", [0.01, 0.995, 3.0])
def test_emulated_run_passes_at_any_speed_when_its_path_is_proved(fraction: float) -> None:
    run = emulated(planted.run(planted.sound_launches(fraction)))
    given = planted.verdicts(run)
    assert overall(given, deciding(run)) is Outcome.PASS
    for one in given:
        unjudged = one.summary.startswith("emulated: not judged")
        assert unjudged == (one.rule in RULES_OF_SPEED), one
        assert not unjudged or one.outcome is Outcome.SKIPPED


def test_emulated_run_fails_when_the_bytes_went_elsewhere() -> None:
    launches = [
        planted.launch(planted.measurement(one, split={"eth1": 1.0}) for one in planted.samples())
    ]
    run = emulated(planted.run(launches))
    assert overall(planted.verdicts(run), deciding(run)) is Outcome.INVALID


@pytest.mark.parametrize("model", ["", "Intel(R) Xeon(R) Gold 6338", "QEMU Virtual CPU"])
def test_speed_is_judged_where_processors_are_not_known_to_be_emulated(model: str) -> None:
    run = emulated(planted.run(planted.sound_launches(0.01)), model)
    given = planted.verdicts(run)
    assert planted.outcomes(given, "fraction") != {Outcome.SKIPPED}
    assert overall(given, deciding(run)) is not Outcome.PASS
