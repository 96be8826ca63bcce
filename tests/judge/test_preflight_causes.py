"""What was found before the measurement stands beside the bad figure that it explains."""

import msgspec
import pytest
from tests.judge import planted_fabric as many
from tests.judge.planted import by_rule, run, sound_launches, the, verdicts
from tests.judge.test_outliers import everybody

from fabricgauge.judge.causes import Cause, preflight_causes
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.verdict import Outcome

SUBNETS = Finding(
    "subnets", Severity.FAIL, "c2:eth0", "has interfaces in overlapping subnets",
    ("c2:eth0 10.77.0.12/8", "c2:eth1 10.77.1.12/24"), "why", "part them", ("c2",), "",
    (Command("c2", ("ip", "addr", "del", "10.77.0.12/8", "dev", "eth0")),),
)  # fmt: skip


def quoted(*findings: Finding, network: str = "net1") -> list[Cause]:
    return list(preflight_causes(findings, Severity.FAIL, network, ("c1", "c2")))


def test_a_finding_about_an_end_is_quoted_with_its_command_and_evidence() -> None:
    (found,) = quoted(SUBNETS)
    assert found.cause.startswith("c2:eth0 has interfaces in overlapping subnets (preflight")
    assert found.remedy == "on c2: ip addr del 10.77.0.12/8 dev eth0"
    assert found.evidence == "c2:eth0 10.77.0.12/8; c2:eth1 10.77.1.12/24"


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": ("c3",)},
        {"network": "net2"},
        {"check": "link"},  # of an interface that is in no network
        {"check": "names"},
        {"check": "rate"},
        {"severity": Severity.WARN},
    ],
)
def test_what_concerns_others_or_no_stream_is_not_quoted(changes: dict[str, object]) -> None:
    assert quoted(msgspec.structs.replace(SUBNETS, **changes)) == []


@pytest.mark.parametrize(
    ("changes", "quotes"),
    [
        ({"nodes": ("c2",)}, True),
        ({"nodes": ("c3",)}, False),
        ({"nodes": ("c3",), "affects": ("c1",)}, True),
        ({"nodes": ()}, True),
    ],
)
def test_a_finding_of_the_network_is_quoted_for_the_nodes_that_it_concerns(
    changes: dict[str, object], quotes: bool
) -> None:
    finding = msgspec.structs.replace(SUBNETS, network="net1", **changes)
    assert bool(quoted(finding)) is quotes


@pytest.mark.parametrize(("nodes", "quotes"), [(1, False), (4, True), (8, True)])
def test_what_few_of_many_nodes_have_does_not_slow_all_of_them(nodes: int, quotes: bool) -> None:
    names = [f"c{place}" for place in range(1, 9)]
    finding = msgspec.structs.replace(SUBNETS, network="net1", nodes=tuple(names[:nodes]))
    found = list(preflight_causes((finding,), Severity.FAIL, "net1", names))
    assert bool(found) is quotes


def test_a_run_that_passes_is_not_accused_by_what_was_found_before() -> None:
    passing = msgspec.structs.replace(run(), preflight=(SUBNETS,))
    assert {one.outcome for one in by_rule(verdicts(passing), "fraction")} == {Outcome.PASS}
    assert all("overlapping" not in one.cause for one in verdicts(passing))


@pytest.mark.parametrize("severity", [Severity.FAIL, Severity.WARN])
def test_a_low_figure_has_the_finding_as_its_likely_cause(severity: Severity) -> None:
    found = msgspec.structs.replace(SUBNETS, severity=severity)
    low = msgspec.structs.replace(run(sound_launches(0.35)), preflight=(found,))
    verdict = the(verdicts(low), "fraction", Outcome.FAIL)
    assert "overlapping subnets" in verdict.cause
    assert verdict.remedy.startswith("on c2: ip addr del")
    assert any("10.77.1.12/24" in line for line in verdict.evidence)


@pytest.mark.parametrize("where", ["c2", "net1"])
def test_a_program_that_starts_late_or_not_at_all_is_no_failed_connection(where: str) -> None:
    found = Finding("connect", Severity.WARN, where, "x", (), "", "", ("c2",), "net1")
    run_ = msgspec.structs.replace(run(), preflight=(found,))
    (verdict,) = by_rule(verdicts(run_), "connect")
    assert verdict.outcome is Outcome.WARN


@pytest.mark.parametrize(
    ("network", "severity", "evidence", "outcomes"),
    [
        ("net1", Severity.FAIL, (), {Outcome.WARN}), ("", Severity.FAIL, (), set()),
        ("net1", Severity.WARN, (), set()),
        ("net1", Severity.FAIL, ("therefore connect: c2: no answer",), {Outcome.FAIL}),
    ],
)  # fmt: skip
def test_an_address_that_two_interfaces_have_is_named_although_all_connect(
    network: str, severity: Severity, evidence: tuple[str, ...], outcomes: set[Outcome]
) -> None:
    what = "has the address 10.77.0.11 of c1:eth0"
    found = Finding("addresses", severity, "c2:eth0", what, evidence, "", "", ("c2",), network)
    run_ = msgspec.structs.replace(run(), preflight=(found,))
    named = by_rule(verdicts(run_), "connect")
    assert {verdict.outcome for verdict in named} == outcomes
    assert all(verdict.about.names == ("c2",) and what in verdict.summary for verdict in named)


@pytest.mark.parametrize(("place", "quotes"), [("c3", True), ("c5", False)])
def test_what_was_found_on_a_partner_does_not_explain_a_slow_node(place: str, quotes: bool) -> None:
    """The partner is the slowest one of the slow node's."""

    def slowed(one: int, two: int) -> float:
        return many.slow(2, share=0.7)(one, two) * (0.99 if 4 in (one, two) else 1.0)

    first, second = many.launch(8, many.rounds(8, slowed)), many.again(8, everybody(8), slowed)
    finding = msgspec.structs.replace(SUBNETS, network="net1", nodes=(place,))
    measured = msgspec.structs.replace(many.run(first, second), preflight=(finding,))
    verdict = the(many.verdicts(measured), "outliers", Outcome.FAIL)
    assert verdict.about.names == ("c3",)
    assert ("overlapping" in verdict.cause) is quotes
