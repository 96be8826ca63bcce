"""The headline is the finding nearest to the cause: dead node, dead link, wrong path, slow part."""

from itertools import combinations

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many
from tests.judge.test_losses import broken_by

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.content.conclusion import headline

DEAD_PAIR = Finding(
    "connect", Severity.FAIL, "c1 and c3", "cannot connect to each other over net1", ("refused",),
    "nothing can be sent between them", "look at the way between them", ("c1", "c3"), "net1",
)  # fmt: skip


def judged(run: Run) -> Judged:
    return conclude(run, DEFAULTS)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ("c2 cannot be reached since discovery: ssh: No route to host", Outcome.INCONCLUSIVE),
        ("c2 was rebooted since discovery", Outcome.INCONCLUSIVE),
        ("c2:eth0 (net1) has lost its carrier: the cable is gone", Outcome.FAIL),
    ],
)
def test_a_node_or_link_that_is_gone_comes_before_the_path_that_was_not_proved(
    change: str, outcome: Outcome
) -> None:
    broken = broken_by(change)
    (launch,) = broken.launches
    little = msgspec.structs.replace(launch, measurements=launch.measurements[:1])
    found = judged(msgspec.structs.replace(broken, launches=(little,)))
    unproved = planted.the(found.verdicts, "path", Outcome.INCONCLUSIVE)
    assert "too little payload" in unproved.summary
    assert found.overall is outcome
    assert headline(found).startswith(f"net1: during the measurement: {change}")


def test_a_link_that_is_gone_comes_before_the_wrong_path_that_follows() -> None:
    broken = broken_by("c2:eth0 (net1) has lost its carrier: the cable is gone")
    elsewhere = planted.changed(
        broken.launches,
        lambda one: msgspec.structs.replace(
            one,
            counters=tuple(
                planted.counters(rank, one.payload_sent_bytes[rank], {"eth1": 1.0})
                for rank in (0, 1)
            ),
        ),
    )
    found = judged(msgspec.structs.replace(broken, launches=tuple(elsewhere)))
    assert found.overall is Outcome.INVALID
    assert "carrier" in headline(found)


def test_a_wrong_path_comes_before_the_slow_figures_of_it() -> None:
    slow = planted.changed(
        planted.sound_launches(0.5),
        lambda one: msgspec.structs.replace(
            one,
            counters=tuple(
                planted.counters(rank, one.payload_sent_bytes[rank], {"eth1": 1.0})
                for rank in (0, 1)
            ),
        ),
    )
    found = judged(planted.run(slow))
    assert {one.outcome for one in found.verdicts if one.rule == "fraction"} >= {Outcome.FAIL}
    assert "crossed eth1, not eth0" in headline(found)


def test_a_dead_pair_comes_before_a_slow_node() -> None:
    slow = many.run(many.launch(3, many.rounds(3, many.slow(1, share=0.1))))
    found = judged(msgspec.structs.replace(slow, preflight=(DEAD_PAIR,)))
    assert headline(found).startswith("net1, c1 and c3: cannot connect")
    assert headline(judged(slow)).startswith("net1, c2, in both directions: 9.9 % of the ceiling")


def test_a_slow_node_among_many_is_compared_with_the_other_pairs() -> None:
    slow = many.slow(2, share=0.3)
    first = many.launch(8, many.rounds(8, slow))
    second = many.again(8, tuple(combinations(range(8), 2)), slow)
    text = headline(judged(many.run(first, second)))
    assert text.startswith("net1, c3, in both directions: ")
    assert "% lower than the other pairs'" in text
