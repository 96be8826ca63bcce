"""Messages per second times their size are a stream; a table of rates alone is judged as one."""

from pathlib import Path

import pytest

from fabricgauge.judge.stats.series import series_of
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.run import IMPORTED, Ended, Launch
from fabricgauge.model.suite import SuiteCurve

TALK = Path(__file__).parents[2] / "fixtures" / "imb" / "document--opx-mrate.out"
#: Payload of Omni-Path at 100 Gb/s: 10240 of 10264 bytes on the wire.
OPA_BYTES_PER_S = 12.5e9 * 10240 / 10264


def test_the_talk_s_last_rate_fills_the_link() -> None:
    curves = tuple(x for x in read(TALK.read_bytes().splitlines()) if isinstance(x, SuiteCurve))
    ended = Ended(IMPORTED, 0, "", (), 0.0)
    launch = Launch(1, None, ("a", "b"), None, (), (), ended, curves=curves)
    shares = {
        series.source.split()[-1]: series.points[-1].bandwidth.value / OPA_BYTES_PER_S
        for series in series_of((launch,))
    }
    # 46,792 and 46,899 messages per second of 262,144 B
    assert shares["opx"] == pytest.approx(0.984, abs=5e-4)
    assert shares["psm2"] == pytest.approx(0.986, abs=5e-4)
