"""What NCCL says of the path, and bus bandwidth size by size, from recorded outputs."""

from pathlib import Path

import msgspec
import pytest
from tests.judge.test_imported import run
from tests.judge.test_tool_launches import around, counted, launch
from tests.judge.test_tool_launches import run as tool_run
from tests.logs.readers.nccl.test_dumps import GRAPH

from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.logs.readers.nccl.dumps import dump_of
from fabricgauge.logs.readers.nccl.library import NcclLog
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.absence import Skipped
from fabricgauge.model.judged import RunVerdicts
from fabricgauge.model.nccl import NcclAdapter, NcclDump, NcclEvidence, NcclRank, NcclWay
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.verdict import Outcome, Verdict

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nccl"
GDR = "recorded-2.21--ib-gdr.out"
SIXTEEN = "recorded-rccl-2.22--sixteen-gpus-silent.out"
ABOVE = "recorded-2.18--nvls-tree-above-the-wire.out"


def curves(name: str) -> tuple[SuiteCurve, ...]:
    found = read([(FIXTURES / name).read_bytes()], name)
    return tuple(one for one in found if isinstance(one, SuiteCurve))


def said(name: str) -> NcclEvidence:
    library = NcclLog()
    for line in (FIXTURES / name).read_text().splitlines():
        library.take(line)
    return library.evidence()


def telling(of: tuple[SuiteCurve, ...], evidence: NcclEvidence) -> tuple[SuiteCurve, ...]:
    """The same tables, as if the library had said that."""
    replace = msgspec.structs.replace
    return tuple(replace(one, evidence=replace(one.evidence, nccl=evidence)) for one in of)


def judged(of: tuple[SuiteCurve, ...], network: str = "") -> RunVerdicts:
    stated = stated_network(network) if network else None
    ceilings = {stated.name: ceiling(stated)} if stated else {}
    return judgement(Context(run(*of, network=stated), ceilings))


def verdict(of: tuple[SuiteCurve, ...], rule: str, network: str = "") -> Verdict:
    return next(one for one in judged(of, network).verdicts if one.rule == rule)


def test_infiniband_with_gpudirect_passes_by_nccls_word() -> None:
    path = verdict(curves(GDR), "path", "hdr")
    assert path.outcome is Outcome.PASS
    assert "NET/IBext_v8 by mlx5_0:1 with GPUDirect RDMA" in path.summary


def test_sockets_are_invalid_where_rdma_was_stated() -> None:
    of = telling(curves(GDR), said("messages-rccl-2.10--sockets-beside-slingshot.log"))
    path = verdict(of, "path", "slingshot11")
    assert path.outcome is Outcome.INVALID
    assert "sockets (TCP by hsn0)" in path.summary
    assert "NET/IB : No device found." in path.cause


def test_sockets_are_invalid_where_the_log_shows_rdma_adapters() -> None:
    of = telling(curves(GDR), said("messages-rccl-2.10--sockets-beside-slingshot.log"))
    path = verdict(of, "path")
    assert path.outcome is Outcome.INVALID
    assert "RDMA adapters (hsn0, hsn1, hsn2 and hsn3)" in path.summary


def test_sockets_are_what_a_network_for_tcp_was_stated_for() -> None:
    of = telling(curves(GDR), said("messages-rccl-2.10--sockets-beside-slingshot.log"))
    assert verdict(of, "path", "25GbE").outcome is Outcome.PASS


def test_sockets_without_a_sign_of_rdma_are_a_warning() -> None:
    way = NcclWay("n1", "NET/Socket", 0, False, 2, "channel 00, rank 0 → 1")
    eth = NcclEvidence(network="Socket", adapters=(NcclAdapter("n1", 0, "eth0"),), ways=(way,))
    assert verdict(telling(curves(GDR), eth), "path").outcome is Outcome.WARN


def test_a_variable_that_turns_rdma_off_is_the_cause() -> None:
    one = said("messages-rccl-2.10--sockets-beside-slingshot.log")
    off = msgspec.structs.replace(one, variables={"NCCL_IB_DISABLE": "1"})
    assert "NCCL_IB_DISABLE=1" in verdict(telling(curves(GDR), off), "path").cause


def test_no_gpudirect_is_a_warning_without_a_reason() -> None:
    path = verdict(curves("recorded-2.12--efa-no-gdr-labelled.out"), "path")
    assert path.outcome is Outcome.WARN
    assert "no GPUDirect RDMA by n2:adapter 0 and n1:adapter 0" in path.summary


def test_no_gpudirect_fails_where_the_module_is_missing() -> None:
    of = telling(curves(GDR), said("messages-2.8--one-of-four-adapters-no-module.log"))
    path = verdict(of, "path")
    assert path.outcome is Outcome.FAIL
    assert "(no module)" in path.cause


def dump(able: bytes) -> NcclDump:
    text = (
        b'<system version="1"><cpu numaid="0"><pci busid="81:00.0"><gpu dev="0" gdr="1"/></pci>'
        b'<nic><net name="mlx5_0" dev="0" speed="100000" gdr="%s"/></nic></cpu></system>' % able
    )
    return dump_of(text, "topology.xml")


@pytest.mark.parametrize(("able", "outcome"), [(b"1", Outcome.FAIL), (b"0", Outcome.WARN)])
def test_a_dump_that_says_that_both_can_makes_it_a_failure(able: bytes, outcome: Outcome) -> None:
    one = said("recorded-2.21--ib-no-gdr-cut-off.out")
    one = msgspec.structs.replace(one, dumps=(dump(able),))
    assert verdict(telling(curves(GDR), one), "path").outcome is outcome


def test_what_a_dump_says_of_devices_stands_in_the_evidence() -> None:
    one = msgspec.structs.replace(said(GDR), dumps=(dump(b"1"), dump_of(GRAPH, "graph.xml")))
    evidence = verdict(telling(curves(GDR), one), "path").evidence
    assert "topology.xml: GPU 0 (81:00.0): NUMA node 0, GPUDirect RDMA" in evidence
    assert "topology.xml: adapter 0 (mlx5_0): NUMA node 0, 100 Gb/s, GPUDirect RDMA" in evidence
    assert any(line.startswith("graph.xml: graph 0: 2 channels by adapters 0 and 3,")
               for line in evidence)  # fmt: skip


@pytest.mark.parametrize(("port_bytes", "outcome"), [(0, Outcome.INVALID), (None, Outcome.PASS)])
def test_counters_that_contradict_nccl_make_the_path_invalid(
    port_bytes: int | None, outcome: Outcome
) -> None:
    """The interface carried the payload; the adapter that NCCL names did not count any of it."""
    path = beside_counters({} if port_bytes is None else {"mlx5_0:1": port_bytes})
    assert path.outcome is outcome, path.summary
    if outcome is Outcome.INVALID:
        assert "mlx5_0:1 on c1" in path.summary
        assert "0 B of 500" in path.summary


def beside_counters(ports: dict[str, int], rails: int = 1) -> Verdict:
    """What path says where NCCL named so many adapters, and these counted so much."""
    sent, library = around(), said(GDR)
    names = {"n1": "c1", "n2": "c2"}
    counters = tuple(
        msgspec.structs.replace(
            one,
            before={**one.before, **{name: counted(0) for name in ports}},
            after={**one.after, **{name: counted(count) for name, count in ports.items()}},
        )
        for one in sent.counters
    )
    replace = msgspec.structs.replace
    library = replace(
        library,
        ways=tuple(
            replace(way, node=names[way.node], adapter=at)
            for way in library.ways for at in range(rails)
        ),
        adapters=tuple(
            replace(one, node=names[one.node], index=at, name=f"mlx5_{at}:1")
            for one in library.adapters for at in range(rails)
        ),
    )  # fmt: skip
    one = launch(
        1, telling(curves(GDR), library)[0], "all_reduce_perf",
        around=replace(sent, counters=counters),
    )  # fmt: skip
    found = judgement(Context(tool_run(one), {"1GbE": Skipped("no ceiling")})).verdicts
    return next(each for each in found if each.rule == "path")


def test_one_of_eight_rails_that_stays_idle_fails_by_its_own_counter() -> None:
    even = 600_000_000 // 8
    busy = {f"mlx5_{at}:1": even for at in range(8)}
    assert "even part" not in beside_counters(busy, 8).summary
    path = beside_counters({**busy, "mlx5_5:1": 4_000}, 8)
    assert path.outcome is Outcome.FAIL
    assert "8 adapters on c1; by their counters mlx5_5:1" in path.summary
    assert any("mlx5_5:1 sent 4 kB" in line for line in path.evidence), path.evidence


def test_all_bytes_over_one_of_eight_rails_name_the_other_seven() -> None:
    alone = {f"mlx5_{at}:1": 600_000_000 * (at == 0) for at in range(8)}
    path = beside_counters(alone, 8)
    assert path.outcome is Outcome.FAIL
    assert "mlx5_1:1" in path.summary and "mlx5_7:1" in path.summary


def with_adapters(gpus: int, adapters: int, used: int) -> tuple[SuiteCurve, ...]:
    """The recorded sixteen ranks as so many GPUs on each node, with adapters of which some work."""
    found, ways = [], []
    for node in ("n1", "n2"):
        found += [NcclAdapter(node, at, f"mlx5_{at}:1", "IB") for at in range(adapters)]
        ways += [NcclWay(node, "NET/IB", at, True, 4, "channel 00") for at in range(used)]
    ranks = (NcclRank(at, at % gpus, "", f"n{1 + at // gpus}") for at in range(2 * gpus))
    said = NcclEvidence("IB", "", tuple(found), tuple(ways), tuple(ranks))
    of = telling(curves(SIXTEEN), said)
    hosts = ("n1",) * gpus + ("n2",) * gpus
    replace = msgspec.structs.replace
    return tuple(replace(one, evidence=replace(one.evidence, rank_hosts=hosts)) for one in of)


@pytest.mark.parametrize(
    ("gpus", "adapters", "used", "outcome"),
    [(8, 8, 8, Outcome.PASS), (8, 8, 1, Outcome.FAIL), (8, 8, 3, Outcome.FAIL),
     (8, 8, 7, Outcome.WARN), (8, 4, 4, Outcome.PASS), (1, 8, 1, Outcome.WARN)],
)  # fmt: skip
def test_idle_adapters_are_named(gpus: int, adapters: int, used: int, outcome: Outcome) -> None:
    path = verdict(with_adapters(gpus, adapters, used), "path")
    assert path.outcome is outcome
    if used < adapters:
        assert f"mlx5_{adapters - 1}:1" in path.summary or "more" in path.summary


def test_a_log_of_some_ranks_alone_names_no_idle_adapter() -> None:
    of = with_adapters(8, 8, 1)
    one = of[0].evidence.nccl
    assert one is not None
    partial = msgspec.structs.replace(one, ranks=one.ranks[:1])
    assert verdict(telling(of, partial), "path").outcome is Outcome.PASS


def test_an_idle_adapter_of_another_kind_is_another_network() -> None:
    of = with_adapters(1, 1, 1)
    one = of[0].evidence.nccl
    assert one is not None
    bond = NcclAdapter("n1", 1, "mlx5_bond_0:1", "RoCE")
    more = msgspec.structs.replace(one, adapters=(*one.adapters, bond))
    assert verdict(telling(of, more), "path").outcome is Outcome.PASS


LOCAL = NcclEvidence(ways=(NcclWay("n1", "SHM", None, False, 4, "channel 00"),), nodes=1)


def test_shared_memory_alone_is_invalid_where_two_nodes_are_named() -> None:
    path = verdict(telling(curves(GDR), LOCAL), "path")
    assert path.outcome is Outcome.INVALID
    assert "all used SHM" in path.summary


def test_nvlink_that_joins_nodes_needs_no_adapter() -> None:
    joined = msgspec.structs.replace(LOCAL, multi_node_nvlink=True)
    assert verdict(telling(curves(GDR), joined), "path").outcome is Outcome.PASS


def test_one_gpu_alone_says_that_mpi_was_not_built_in() -> None:
    path = verdict(curves("recorded-without-mpi--one-gpu-each.out"), "path", "ndr")
    assert path.outcome is Outcome.INVALID
    assert "built without MPI" in path.cause


def test_eight_adapters_at_ninety_percent_pass_by_their_best_size() -> None:
    of = curves(SIXTEEN)
    one = verdict(of, "fraction", "400GbE roce rails=8")
    assert one.outcome is Outcome.PASS
    assert "at 16 GiB = 91.2 % of 392,149 MB/s" in one.summary
    assert judged(of, "400GbE roce rails=8").overall is Outcome.PASS
    assert any(line.startswith("at 64 MiB: 153,100 MB/s, 39.0 %") for line in one.evidence)


def test_the_average_over_sizes_decides_nothing() -> None:
    """The recorded average is 92 of 392 GB/s: small messages are in it."""
    assert curves(SIXTEEN)[0].settings["average bus bandwidth"].startswith("92.3318")


def test_half_of_the_wire_fails_once_it_no_longer_grows() -> None:
    one = verdict(curves(GDR), "fraction", "100GbE roce")
    assert (one.outcome, judged(curves(GDR), "100GbE roce").overall) == (Outcome.FAIL, Outcome.FAIL)


@pytest.mark.parametrize(
    ("factor", "outcome"),
    [(1.0, Outcome.FAIL), (1.9, Outcome.INCONCLUSIVE), (4.0, Outcome.FAIL)],
)
def test_one_gpu_of_each_node_is_not_held_against_eight_rails(
    factor: float, outcome: Outcome
) -> None:
    """Half of one rail is low; all of one rail is what one GPU can use. Two rails refute that."""
    replace = msgspec.structs.replace

    def faster(point: SuitePoint) -> SuitePoint:
        rate = factor * point.estimate.value
        return replace(point, estimate=replace(point.estimate, value=rate))

    of = tuple(replace(one, points=tuple(map(faster, one.points))) for one in curves(GDR))
    low = verdict(of, "fraction", "100GbE roce rails=8")
    assert low.outcome is outcome
    assert ("1 GPU, too few for 8 rails" in low.cause) is (outcome is Outcome.INCONCLUSIVE)


def test_what_still_grows_asks_for_larger_messages() -> None:
    of = tuple(msgspec.structs.replace(one, points=one.points[:2]) for one in curves(GDR))
    one = verdict(of, "fraction", "100GbE roce")
    assert one.outcome is Outcome.INCONCLUSIVE
    assert "larger messages" in one.remedy


def test_more_than_the_wire_by_a_tree_is_said_and_passes() -> None:
    one = verdict(curves(ABOVE), "fraction", "ndr rails=8")
    assert one.outcome is Outcome.PASS
    assert "111.8 %" in one.summary
    assert "less often than a ring" in one.summary


def test_more_than_any_algorithm_can_is_a_warning_in_a_silent_log() -> None:
    one = verdict(curves(ABOVE), "above-ceiling", "ndr rails=4")
    assert one.outcome is Outcome.WARN
    assert "NCCL_DEBUG=INFO" in one.remedy


def test_more_than_any_algorithm_can_is_invalid_where_nccl_tells_of_no_help() -> None:
    of = telling(curves(ABOVE), said(GDR))
    assert verdict(of, "above-ceiling", "ndr rails=4").outcome is Outcome.INVALID


def test_sharp_and_nvls_may_exceed_the_wire() -> None:
    helped = NcclEvidence(nvls_channels=16, channels=16)
    of = telling(curves(ABOVE), helped)
    assert verdict(of, "above-ceiling", "ndr rails=4").outcome is not Outcome.INVALID
    assert "NVLS may reduce" in verdict(of, "fraction", "ndr rails=4").summary


def test_rates_that_the_dump_tells_are_a_ceiling_where_no_network_is_stated() -> None:
    one = msgspec.structs.replace(said(GDR), dumps=(dump(b"1"),))
    fraction = verdict(telling(curves(GDR), one), "fraction")
    assert fraction.outcome is Outcome.FAIL
    assert "51.5 % of 12,500 MB/s (1 adapter, nominal rates" in fraction.summary


def test_rdma_is_not_held_against_a_network_for_tcp() -> None:
    one = verdict(curves(GDR), "fraction", "100GbE")
    assert one.outcome is Outcome.SKIPPED
    assert "NCCL used RDMA" in one.summary


def test_gpus_of_one_node_are_judged_against_nvlink_alone() -> None:
    replace = msgspec.structs.replace
    of = tuple(
        replace(one, evidence=replace(one.evidence, rank_hosts=("n1",) * 16), hosts=("n1",))
        for one in curves(SIXTEEN)
    )
    assert verdict(of, "placement", "nvlink4").outcome is Outcome.PASS
    assert verdict(of, "fraction", "nvlink4").outcome is Outcome.WARN
    assert verdict(of, "fraction", "400GbE roce").outcome is Outcome.SKIPPED


def test_loopback_is_no_network_and_its_assumed_rate_no_ceiling() -> None:
    """NCCL takes 10 Gb/s for the loopback interface, which carried more."""
    loopback = curves("recorded-2.28--two-ranks-by-loopback.out")
    path = verdict(loopback, "path")
    assert path.outcome is Outcome.INVALID
    assert "loopback" in path.summary
    assert verdict(loopback, "above-ceiling").outcome is Outcome.SKIPPED
    assert verdict(loopback, "fraction").outcome is Outcome.SKIPPED
