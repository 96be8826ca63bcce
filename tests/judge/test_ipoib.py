"""A check over IP on InfiniBand, whose ceiling is known."""

import msgspec
from tests.judge.planted import fabric, network, run, verdicts

from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.judge.judging import deciding, overall
from fabricgauge.model.verdict import Outcome


def test_a_sound_check_over_ipoib_passes() -> None:
    on = msgspec.structs.replace(network(), technology="ipoib", mode="datagram")
    of = run(of=msgspec.structs.replace(fabric(), networks=(on, network(1))))
    assert overall(verdicts(of, ceiling(on)), deciding(of)) is Outcome.PASS
