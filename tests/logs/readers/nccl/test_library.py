"""What NCCL and RCCL say of their own choice, read from recorded messages."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.nccl.library import MOST_WORDS, NcclLog, carrier
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.nccl import NcclEvidence
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "nccl"
RECORDED = sorted(FIXTURES.glob("recorded-*.out"))


def found(text: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read([text.encode()], "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def recorded(name: str) -> SuiteCurve:
    return found((FIXTURES / f"recorded-{name}.out").read_text())[0][0]


def said(text: str) -> NcclEvidence:
    library = NcclLog()
    for line in text.splitlines():
        library.take(line)
    return library.evidence()


def messages(name: str) -> NcclEvidence:
    return said((FIXTURES / f"messages-{name}.log").read_text())


def told(curve: SuiteCurve) -> NcclEvidence:
    assert curve.evidence.nccl is not None
    return curve.evidence.nccl


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_line_of_a_recorded_output_is_understood(path: Path) -> None:
    curves, strange = found(path.read_text())
    assert curves
    assert strange == []


def test_infiniband_with_gpudirect_names_adapters_ranks_and_ways() -> None:
    curve = recorded("2.21--ib-gdr")
    one = told(curve)
    assert (curve.transport, curve.settings["nccl"]) == ("rdma", "2.21.5+cuda12.4")
    assert one.network == "IBext_v8"
    assert [(a.node, a.index, a.name, a.link) for a in one.adapters] == [
        ("n1", 0, "mlx5_0:1", "IB"), ("n2", 0, "mlx5_0:1", "IB"),
    ]  # fmt: skip
    assert [(w.node, w.via, w.adapter, w.direct, w.connections) for w in one.ways] == [
        ("n1", "NET/IBext_v8", 0, True, 4), ("n2", "NET/IBext_v8", 0, True, 4),
    ]  # fmt: skip
    assert one.ways[0].first == "channel 00, rank 1 → 0"
    assert [(r.rank, r.node, r.gpu, r.bus_id) for r in one.ranks] == [
        (0, "n1", 0, "81000"), (1, "n2", 0, "81000"),
    ]  # fmt: skip
    assert (one.nodes, one.local_ranks, one.channels, one.trees, one.ring) == (2, 1, 2, 2, "0 1")
    assert one.variables == {"NCCL_NET_GDR_LEVEL": "SYS"}


def test_without_gpudirect_no_way_is_direct() -> None:
    assert {way.direct for way in told(recorded("2.21--ib-no-gdr-cut-off")).ways} == {False}


def test_lines_of_all_labelled_ranks_tell_of_one_library() -> None:
    """mpirun --tag-output keeps each rank's lines apart; the library is one."""
    curve = recorded("2.12--efa-no-gdr-labelled")
    one = told(curve)
    assert (one.network, one.provider) == ("AWS Libfabric", "efa")
    assert {way.node for way in one.ways} == {"n1", "n2"}
    assert (curve.transport, curve.evidence.technology) == ("rdma", ("efa", "efa"))


def test_sharp_that_falls_back_is_a_warning_and_no_way() -> None:
    one = told(recorded("2.23--sharp-falls-back"))
    assert one.warnings == ("Cannot initialize CollNet, using point-to-point network instead",)
    assert {way.via for way in one.ways} == {"NET/IBext_v8", "P2P/CUMEM"}
    assert one.offloaded == ""


def test_the_adapter_of_another_rank_on_the_node_is_read() -> None:
    """``NET/IBext_v8/5(2)``: adapter 5, by way of rank 2."""
    ways = told(recorded("2.23--sharp-falls-back")).crossing
    assert {(way.node, way.adapter) for way in ways} == {("n1", 1), ("n2", 5), ("n3", 0), ("n4", 1)}


def test_sharp_that_connected_is_told_of_by_collnet() -> None:
    one = told(recorded("2.23--sharp-hangs"))
    assert {way.via for way in one.ways} == {"COLLNET/SHARP"}
    assert (one.nodes, one.local_ranks) == (4, 2)


def test_rccl_by_sockets_lists_interfaces_and_says_why() -> None:
    one = messages("rccl-2.10--sockets-beside-slingshot")
    assert one.sockets
    assert carrier(one) == "tcp"
    assert [a.name for a in one.adapters[:5]] == [
        "bond0", "hsn0", "hsn1", "hsn2", "hsn3",
    ]  # fmt: skip
    assert one.reasons == ("NET/IB : No device found.",)


def test_reasons_against_gpudirect_are_kept_in_the_librarys_words() -> None:
    one = messages("2.8--one-of-four-adapters-no-module")
    assert len(one.reasons) == 3
    assert one.reasons[0].endswith("GPU Direct RDMA Disabled for HCA 1 'mlx5_1' (no module)")
    assert {way.adapter for way in one.ways} == {0}


def test_algorithm_and_protocol_are_read_by_name_and_by_number() -> None:
    (choice,) = messages("2.18--tuning").choices
    assert (choice.function, choice.algorithm, choice.protocol) == ("AllReduce", "TREE", "LL")
    old = said("n1:1:2 [0] NCCL INFO 1048576 Bytes -> Algo 1 proto 2 time 41.2")
    assert (old.choices[0].algorithm, old.choices[0].protocol) == ("RING", "SIMPLE")


@pytest.mark.parametrize(
    ("words", "via"),
    [
        ("P2P/direct pointer/read", "P2P/direct pointer"), ("P2P/IPC/CE", "P2P/IPC"),
        ("P2P/CUMEM/read", "P2P/CUMEM"), ("SHM/direct/direct", "SHM"),
        ("direct shared memory", "SHM"),
    ],
)  # fmt: skip
def test_ways_inside_a_node_of_all_versions(words: str, via: str) -> None:
    (way,) = said(f"n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via {words}").ways
    assert (way.via, way.crosses) == (via, False)


def test_rates_of_adapters_come_from_the_graph_in_the_log() -> None:
    """Source: the line is in the search of NVIDIA/nccl#1189 (H20, 400 Gb/s)."""
    line = "n1:1:2 [1] NCCL INFO     + NET[50.0] - NET/3 (aa24210003bd70c4/1/50.000000)"
    assert said(line).rates_bit_s == {"3": 400e9}


def test_the_next_start_inherits_nothing() -> None:
    first = (FIXTURES / "recorded-2.21--ib-gdr.out").read_text()
    second = first.replace("IBext_v8", "Socket").replace("/GDRDMA", "")
    curves = found(first + second)[0]
    assert {one.transport for one in curves[:6]} == {"rdma"}
    assert {one.transport for one in curves[6:]} == {"tcp"}


def test_memory_does_not_grow_with_the_log() -> None:
    library = NcclLog()
    for number in range(5000):
        library.take(f"n1:1:2 [0] NCCL WARN trouble {number}")
        library.take(f"n1:1:2 [0] NCCL INFO Channel 0{number % 8}/0 : 0[0] -> 1[0] via NET/IB/0")
    assert len(library.evidence().warnings) == MOST_WORDS
    assert [way.connections for way in library.evidence().ways] == [5000]


PARTS = st.sampled_from(
    ["NCCL INFO ", "NCCL WARN ", "Channel 00/0 : ", "0[0] -> 1[0]", " via NET/", "IB/0", "[0]",
     ": Using [", "]mlx5_0:1/IB", " cudaDev ", "rank 9 nranks 9", "nNodes ", "Trees [", " -> Algo ",
     "9" * 40, " set by environment to ", "\x1b[31m", "<script>", "\0", "Using network "]
)  # fmt: skip


@given(st.lists(st.one_of(PARTS, st.text(max_size=8)), max_size=12))
def test_no_message_makes_it_raise(parts: list[str]) -> None:
    said("n1:1:2 [0] NCCL INFO " + "".join(parts))
