"""What was left out or could not be reached is told, and never hides a failure."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.judge.judging import overall
from fabricgauge.model.fabric import Fabric, Unreached
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome

UNREACHED = (Unreached("c3", "ssh: No route to host"),)
UNJOINED = ("net3 was declared, but of the nodes only c1 is in it",)


def with_nodes(count: int) -> Fabric:
    nodes = tuple(map(planted.node, range(1, count + 1)))
    return msgspec.structs.replace(planted.fabric(), nodes=nodes)


def test_coverage_passes_when_every_node_was_measured() -> None:
    assert planted.outcomes(planted.verdicts(planted.run()), "coverage") == {Outcome.PASS}


def test_coverage_warns_and_names_nodes_that_were_not_measured() -> None:
    given = planted.verdicts(planted.run(of=with_nodes(3)))
    verdict = planted.the(given, "coverage", Outcome.WARN)
    assert (verdict.subject, verdict.network) == ("run", "")
    assert verdict.summary.endswith("1 of 3 nodes were not measured: c3")
    assert overall(given) is Outcome.WARN


def test_coverage_names_at_most_six_nodes_and_counts_the_others() -> None:
    verdict = planted.the(
        planted.verdicts(planted.run(of=with_nodes(10))), "coverage", Outcome.WARN
    )
    assert "c8 and 2 more" in verdict.summary
    assert "c9" not in verdict.summary


def test_taking_part_in_a_launch_is_not_being_measured() -> None:
    """Pairs of ranks 0 and 1 in launches of four nodes."""
    run = planted.run(of=with_nodes(4))
    four = ("c1", "c2", "c3", "c4")
    launches = tuple(msgspec.structs.replace(one, nodes=four) for one in run.launches)
    verdict = planted.the(
        planted.verdicts(msgspec.structs.replace(run, launches=launches)), "coverage", Outcome.WARN
    )
    assert verdict.summary.endswith("2 of 4 nodes were not measured: c3 and c4")
    assert "--patterns" in verdict.remedy


def test_a_network_that_a_node_may_have_lost_is_a_warning_and_a_heads_own_is_none() -> None:
    told = "c2:eth1 has a link and no address, unlike c1:eth1 (10.78.0.11)"
    of = msgspec.structs.replace(planted.fabric(), partial=(told,))
    verdict = planted.the(planted.verdicts(planted.run(of=of)), "coverage", Outcome.WARN)
    assert told in verdict.summary
    of = msgspec.structs.replace(planted.fabric(), lone=("c1:eth1 10.78.0.11/24",))
    verdict = planted.the(planted.verdicts(planted.run(of=of)), "coverage", Outcome.PASS)
    assert any("c1:eth1 10.78.0.11/24" in line for line in verdict.evidence)


def test_coverage_warns_of_a_node_that_broke_a_launch_and_names_the_rule_that_tells_it() -> None:
    run = planted.run()
    lost = Finding("launch", Severity.FAIL, "c2", "its rank is gone", (), "", "", ("c2",), "net1")
    first = run.launches[0]
    ended = msgspec.structs.replace(first.ended, status="broken", culprits=(lost,))
    short = msgspec.structs.replace(first, ended=ended, measurements=first.measurements[:1])
    broken = msgspec.structs.replace(run, launches=(short, *run.launches[1:]))
    verdict = planted.the(planted.verdicts(broken), "coverage", Outcome.WARN)
    assert verdict.summary.startswith("c2 took part until a launch broke")
    assert planted.outcomes(planted.verdicts(broken), "launch") == {Outcome.FAIL}


@pytest.mark.parametrize("lost", [{"unreached": UNREACHED}, {"unjoined": UNJOINED}])
def test_coverage_is_inconclusive_when_what_was_asked_for_is_missing(
    lost: dict[str, tuple[object, ...]],
) -> None:
    of = msgspec.structs.replace(planted.fabric(), **lost)
    given = planted.verdicts(planted.run(of=of))
    verdict = planted.the(given, "coverage", Outcome.INCONCLUSIVE)
    assert any(word in verdict.summary for word in ("No route to host", "only c1"))
    assert overall(given) is Outcome.INCONCLUSIVE
    failing = planted.verdicts(planted.run(planted.sound_launches(0.0995), of=of))
    assert overall(failing) is Outcome.FAIL


@pytest.mark.parametrize(("lost", "named"), [
    ({"unjoined": UNJOINED}, True), ({"unjoined": UNJOINED, "unreached": UNREACHED}, False),
])  # fmt: skip
def test_an_address_found_wrong_beforehand_is_why_a_network_lacks_a_node(
    lost: dict[str, tuple[object, ...]], named: bool
) -> None:
    same = Finding("addresses", Severity.FAIL, "c2:eth1", "has c2:eth0's", (), "", "set its own")
    run = planted.run(of=msgspec.structs.replace(planted.fabric(), **lost))
    given = planted.verdicts(msgspec.structs.replace(run, preflight=(same,)))
    verdict = planted.the(given, "coverage", Outcome.INCONCLUSIVE)
    told = ("c2:eth1 has c2:eth0's", "set its own")
    assert ((verdict.cause, verdict.remedy) == told) is named


def measured_on(name: str, number: int) -> Launch:
    slow = map(planted.measurement, planted.samples(0.0995))
    return planted.launch(slow, number, name)


def test_verdicts_are_grouped_by_network_although_a_name_has_a_comma() -> None:
    names = ("rack 1, left", "rack 1")
    of = msgspec.structs.replace(
        planted.fabric(),
        networks=tuple(msgspec.structs.replace(planted.network(), name=name) for name in names),
    )
    one_host = tuple(msgspec.structs.replace(one, host="c1") for one in planted.placements())
    same = tuple(msgspec.structs.replace(one, boot_id="") for one in one_host)
    memory = msgspec.structs.replace(measured_on(names[0], 1), placements=same)
    given = planted.judge(
        planted.run([memory, measured_on(names[1], 2)], of=of),
        dict.fromkeys(names, planted.ceiling()),
    )
    assert {one.network for one in given} == {*names, ""}
    assert {one.network for one in given if one.subject.startswith(names[0])} == {names[0]}
    assert overall(given) is Outcome.FAIL


def test_a_node_that_cannot_run_the_engine_is_not_called_down() -> None:
    causes = []
    for answers in (False, True):
        lost = Unreached("c3", "c3 cannot measure: its disk is full", answers)
        fabric = msgspec.structs.replace(planted.fabric(), unreached=(lost,))
        given = planted.verdicts(planted.run(of=fabric))
        causes.append(planted.the(given, "coverage", Outcome.INCONCLUSIVE).cause)
    assert "down" in causes[0] and "cannot hold or run the engine" in causes[1]
