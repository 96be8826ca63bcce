"""Bulk that ends, or hangs, beside a victim: planted launches, and a sound one beside."""

import time
from collections.abc import Iterator
from queue import SimpleQueue
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from tests.features.classes.test_judging import HIGH, LOW, make_measured
from tests.judge.planted import Sample, measurement

from fabricgauge.check.run_context import RunContext
from fabricgauge.features.classes import measuring
from fabricgauge.features.classes.judging import judge
from fabricgauge.features.classes.setting import ClassSetting, set_class
from fabricgauge.model.plan import PlannedLaunch, Stopping
from fabricgauge.model.run import Ended
from fabricgauge.model.verdict import Outcome
from fabricgauge.nodes.launch.launch import Running

WAY = measuring._Way(PlannedLaunch(1, "net1", None, ("c1", "c2"), ()), None, 2.4e6)
CASE = msgspec.json.encode(measurement(Sample("bandwidth", 65536, 0, 1e-2))).decode()


class Bulk:
    """A running launch of bulk, whose cases end when the test plants their lines."""

    def __init__(self) -> None:
        self.lines: SimpleQueue[str] = SimpleQueue()

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines.get, "")

    def close(self) -> None:
        self.lines.put("")


class Victim:
    """A running launch of a victim; ``beside`` are bulk's lines after the victim's record."""

    def __init__(self, median_s: float, bulk: Bulk, beside: tuple[str, ...]) -> None:
        self._median_s, self._bulk, self._beside = median_s, bulk, beside

    def __iter__(self) -> Iterator[str]:
        self._bulk.lines.put(CASE)  # while the victim's launcher starts
        time.sleep(0.05)
        sample = Sample("latency", 8, 0, self._median_s)
        yield msgspec.json.encode(measurement(sample)).decode()
        for line in self._beside:
            self._bulk.lines.put(line)

    def ended(self) -> Ended:
        return Ended("ok", 0, "", (), 0.1)

    def close(self) -> None:
        """Do nothing: no process runs."""


class Launches(measuring._Launches):
    """Launches of which bulk and victim are planted; the own class comes last."""

    def __init__(self, beside_own: tuple[str, ...]) -> None:
        settings = (set_class(HIGH, "sockets", None), set_class(LOW, "sockets", None))
        context = SimpleNamespace(
            target=SimpleNamespace(request=SimpleNamespace(case_budget=0.1)),
            plan=SimpleNamespace(stopping=Stopping(0.01, 0.95)),
            progress=SimpleNamespace(stage=lambda _text: None),
        )
        super().__init__(cast(RunContext, context), WAY, *settings)
        self._beside_own, self._load = beside_own, Bulk()

    def _start(
        self, launch: PlannedLaunch, setting: ClassSetting, stopping: Stopping, name: str
    ) -> Running:
        if name.startswith("bulk"):
            self._load.lines.put(CASE)
            return cast(Running, self._load)
        own, idle = name.endswith("own"), name.endswith("idle")
        beside = self._beside_own if own else (CASE,)
        median_s = 5e-5 if own or idle else 2.6e-2
        return cast(Running, Victim(median_s, self._load, () if idle else beside))


@pytest.mark.parametrize(
    ("beside_own", "outcome", "reason"),
    [
        ((CASE,), Outcome.PASS, ""),
        (("",), Outcome.INCONCLUSIVE, "bulk ended"),
        ((CASE, ""), Outcome.INCONCLUSIVE, "bulk ended"),
        ((), Outcome.INCONCLUSIVE, "bulk hangs"),
    ],
)
def test_a_victim_beside_bulk_that_ended_is_not_judged(
    beside_own: tuple[str, ...],
    outcome: Outcome,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measuring, "_CASE_S", 0.5)
    launches = Launches(beside_own)
    launches.measure_round(1, shares_class=False)
    assert [one.phase for one in launches.times] == ["idle", "shared", "own"]
    assert all(one.bulk_cases > 0 for one in launches.times[1:])
    measured = make_measured(tuple(launches.times), failures=tuple(launches.failures))
    judged, sentence = judge(msgspec.structs.replace(measured, ceiling_bytes_per_s=0.0))
    assert judged is outcome, sentence
    if reason:
        assert "in its own class" in sentence and reason in sentence
