"""Who broke a launch: evidence first, then launches of fewer nodes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.check import breakage
from fabricgauge.check.breakage import (
    CulpritFindings,
    FailedLaunch,
    culprit_from_unanswered,
    culprits_from_findings,
    find_culprits,
)
from fabricgauge.check.plan.outlook import estimated_s
from fabricgauge.check.plan.search import Group
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.doctor import doctor, survey
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.fabric import Fabric, Member
from fabricgauge.model.finding import Checked, Diagnosis, Finding, Severity
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.store.run_directory import RunDirectory

NODES = ("c1", "c2", "c3", "c4", "c5")
LAUNCH = PlannedLaunch(1, "net1", "10.77.0.0/24", NODES, ())


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    hosts = HostAccess("local", tuple(Host(node, ()) for node in NODES))
    target = Target(hosts, MeasurementRequest(), DEFAULTS)
    monkeypatch.setattr(breakage, "try_connections", lambda *_: ())
    monkeypatch.setattr(survey, "survey_nodes", lambda *_: ((), Fabric((), (), ())))
    return RunContext(target, RunDirectory.create(tmp_path), planted.run())


def broken(**changes: Any) -> FailedLaunch:
    return msgspec.structs.replace(FailedLaunch(LAUNCH, None, {}, ""), **changes)


def never(_: Sequence[Group]) -> Sequence[str]:
    raise AssertionError("no launch is needed")


def asked(context: RunContext, of: FailedLaunch, *culprits: Group) -> CulpritFindings:
    def breaks(groups: Sequence[Group]) -> list[str]:
        return ["broke" * any(set(one) <= set(group) for one in culprits) for group in groups]

    return find_culprits(context, of, breaks)


def test_a_lost_rank_is_named_without_a_launch(context: RunContext) -> None:
    found = find_culprits(context, broken(lost={"c3": "its rank is gone"}), never)
    assert [one.where for one in found.findings] == ["c3"]
    assert "rank" in found.findings[0].what
    assert [(one.kind, one.nodes) for one in found.culprits] == [("node", ("c3",))]


@pytest.mark.parametrize(
    ("sources", "named", "kind"),
    [(("c4",), {"c4", "c3"}, "pair"), (("c1", "c2", "c4"), {"c3"}, "node"), ((), None, "")],
)
def test_a_connection_that_is_not_answered_names_its_ends(
    context: RunContext, sources: tuple[str, ...], named: set[str] | None, kind: str
) -> None:
    members = tuple(Member(node, "eth0", f"10.77.0.1{node[1]}", 1500) for node in NODES)
    network = msgspec.structs.replace(planted.network(), members=members)
    fabric = msgspec.structs.replace(planted.fabric(), networks=(network,))
    asking = frozenset({*((one, "10.77.0.13") for one in sources), ("c1", "10.99.0.1")})
    found = culprit_from_unanswered(fabric, broken(unanswered=asking))
    if named is None:
        assert found is None
    else:
        assert found is not None
        assert [({*one.nodes}, one.kind) for one in found.culprits] == [(named, kind)]
        assert [{*one.nodes} for one in found.findings] == [named]


def test_the_launchers_word_is_taken(context: RunContext) -> None:
    found = find_culprits(context, broken(printed="srun: error: c2: task 1: Killed"), never)
    assert [one.nodes for one in found.findings] == [("c2",)]


def test_a_pair_that_hangs_is_found_by_launches(context: RunContext) -> None:
    found = asked(context, broken(), ("c2", "c5"))
    assert [set(one.nodes) for one in found.findings] == [{"c2", "c5"}]
    assert found.culprits[0].kind == "pair"
    assert any("broke" in line for line in found.findings[0].evidence)
    assert set(culprits_from_findings(found.findings)) == set(found.culprits)


def test_a_route_by_another_network_is_named_without_a_launch(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ("c1:eth0", "packets to net1 leave by eth1")
    wrong = Finding("reverse-path", Severity.FAIL, *said, (), "", "ip route get", ("c1",), "net1")
    other = msgspec.structs.replace(wrong, network="net2", where="c2:eth1", nodes=("c2",))
    found = (Checked("reverse-path", "", (wrong, other)),)
    monkeypatch.setattr(doctor, "run_checks", lambda _: Diagnosis(found, NODES, ("net1",), 0.0, {}))
    told = find_culprits(context, broken(), never)
    assert [(one.where, one.what) for one in told.findings] == [said]
    assert [(one.kind, one.nodes) for one in told.culprits] == [("node", ("c1",))]


def test_a_route_that_all_nodes_have_wrong_names_each_of_them(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ("c1:eth0 and c2:eth0", "packets to net1 leave by eth1")
    both = ("c1", "c2")
    wrong = Finding("reverse-path", Severity.FAIL, *said, (), "", "ip route get", both, "net1")
    found = (Checked("reverse-path", "", (wrong,)),)
    monkeypatch.setattr(doctor, "run_checks", lambda _: Diagnosis(found, both, ("net1",), 0.0, {}))
    two = msgspec.structs.replace(LAUNCH, nodes=both)
    told = find_culprits(context, broken(launch=two, began=False), never)
    assert [(one.where, one.what) for one in told.findings] == [said]
    assert [one.nodes for one in told.culprits] == [("c1",), ("c2",)]


WRONG_NAME = Finding("names", Severity.FAIL, "c3", "takes head for 10.77.0.99", (), "", "", ("c3",))


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"began": False}, ["c3"]), ({"began": True}, []), ({"began": False, "exit_code": 127}, [])],
)
def test_a_wrong_name_breaks_a_launch_that_never_began(
    context: RunContext, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], named: list[str]
) -> None:
    monkeypatch.setattr(doctor, "find_wrong_names", lambda *_: (WRONG_NAME,))
    told = asked(context, broken(**changes))
    assert [one.where for one in told.findings] == named
    assert all((one.check, one.network) == ("launch", "net1") for one in told.findings)


def test_a_pair_is_found_once_a_node_that_breaks_alone_is_out(context: RunContext) -> None:
    culprits = (("c4",), ("c1", "c3"))
    assert [one.nodes for one in asked(context, broken(), *culprits).findings] == [("c4",)]
    rest = msgspec.structs.replace(LAUNCH, nodes=("c1", "c2", "c3", "c5"))
    (found,) = asked(context, broken(launch=rest), *culprits).findings
    assert {*found.nodes} == {"c1", "c3"}


def test_what_does_not_repeat_names_nobody(context: RunContext) -> None:
    assert asked(context, broken()) == CulpritFindings(repeats=False)


def test_nobody_is_named_where_every_launch_breaks(context: RunContext) -> None:
    found = asked(context, broken(), *[(one,) for one in NODES])
    assert found == CulpritFindings()


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_the_search_of_pairs_has_an_end(
    context: RunContext, monkeypatch: pytest.MonkeyPatch, launches: int
) -> None:
    limit_s = max(breakage.SEARCH_S, estimated_s(context.plan.launches))
    groups: list[Group] = []
    monkeypatch.setattr(breakage, "monotonic", lambda: len(groups) * limit_s / launches)

    def breaks(tried: Sequence[Group]) -> list[str]:
        groups.extend(group for group in tried if len(group) > 1)
        return ["broke" * ({"c1", "c2"} <= set(group)) for group in tried]

    found = find_culprits(context, broken(), breaks)
    assert len(groups) == launches
    assert found.culprits == ()
    told = [one.nodes for one in found.findings]
    assert told == ([] if launches == 1 else [groups[-1]])


@pytest.mark.parametrize("code", [64, 65])
def test_a_program_that_does_not_understand_is_no_nodes_fault(
    context: RunContext, code: int
) -> None:
    assert find_culprits(context, broken(exit_code=code), never) == CulpritFindings()


@pytest.mark.parametrize("code", [126, 127])
def test_a_program_that_starts_on_no_node_is_no_nodes_fault(context: RunContext, code: int) -> None:
    assert asked(context, broken(exit_code=code), *[(one,) for one in NODES]) == CulpritFindings()
    assert asked(context, broken(exit_code=code), ("c1", "c2")) == CulpritFindings()


@pytest.mark.parametrize("code", [None, 127])
def test_nodes_whose_own_launches_break_are_named_with_the_words(
    context: RunContext, code: int | None
) -> None:
    """However many, as long as others' do not."""
    lacks = "it broke; it said: /c/fabricgauge-engine: error while loading shared libraries: libx"

    def breaks(groups: Sequence[Group]) -> list[str]:
        assert all(len(group) == 1 for group in groups)
        return [lacks if group[0] in ("c2", "c3", "c5") else "" for group in groups]

    found = find_culprits(context, broken(exit_code=code, began=False), breaks)
    assert [one.nodes for one in found.findings] == [("c2",), ("c3",), ("c5",)]
    assert [one.nodes for one in found.culprits] == [("c2",), ("c3",), ("c5",)]
    assert "loading shared libraries: libx" in found.findings[0].what
    assert lacks in found.findings[0].evidence


def test_nodes_that_only_break_launches_together_are_no_pair(context: RunContext) -> None:
    found = asked(context, broken(), ("c1", "c2", "c4"))
    assert found.culprits == ()
    assert [one.nodes for one in found.findings] == [("c1", "c2", "c3", "c4")]


def test_of_two_nodes_the_one_that_breaks_alone_is_named(context: RunContext) -> None:
    two = msgspec.structs.replace(LAUNCH, nodes=("c1", "c2"))
    assert asked(context, broken(launch=two), ("c1", "c2")) == CulpritFindings()
    assert asked(context, broken(launch=two), ("c1",), ("c2",)) == CulpritFindings()
    found = asked(context, broken(launch=two), ("c2",))
    assert [one.nodes for one in found.culprits] == [("c2",)]


SEGMENTATION_FAULT = (
    "prterun noticed that process rank 0 with PID 1696 on node c1 exited on\nsignal 11"
    " (Segmentation fault)."
)


def test_a_segmentation_fault_in_gpu_memory_blames_the_mpi_and_no_node(
    context: RunContext,
) -> None:
    """Recorded with a UCX that did not see CUDA's allocations, on a sound machine."""
    lost = {"c1": "its rank is gone"}
    failed = broken(printed=SEGMENTATION_FAULT, memory="cuda", lost=lost)
    output = find_culprits(context, failed, never)
    (finding,) = output.findings
    assert (finding.where, finding.nodes, output.culprits) == ("the MPI", (), ())
    assert "SIGSEGV" in finding.what and "cuda memory" in finding.what
    assert "UCX_MEMTYPE_CACHE" in finding.remedy


def test_a_segmentation_fault_in_host_memory_names_its_node(context: RunContext) -> None:
    output = find_culprits(context, broken(printed=SEGMENTATION_FAULT), never)
    assert [finding.nodes for finding in output.findings] == [("c1",)]
