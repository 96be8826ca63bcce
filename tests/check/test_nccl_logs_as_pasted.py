"""Logs of nccl-tests as people paste them, from the text to the verdict."""

from pathlib import Path

import pytest
from tests.logs.test_logs_as_seen import judged

from fabricgauge.logs.readers.nccl.troubles import meaning
from fabricgauge.logs.readers.suites import read
from fabricgauge.logs.refused import RefusedFile, refusal
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome

PASTED = Path(__file__).parents[1] / "fixtures" / "nccl-tests" / "pasted"
INVALID, INCONCLUSIVE, WARN, PASS = (
    Outcome.INVALID, Outcome.INCONCLUSIVE, Outcome.WARN, Outcome.PASS,
)  # fmt: skip
SKIPPED, FAIL = Outcome.SKIPPED, Outcome.FAIL
EIGHT = "ndr rails=8"


def log(name: str) -> bytes:
    return (PASTED / f"{name}.out").read_bytes()


def curves(name: str) -> list[SuiteCurve]:
    return [item for item in read([log(name)], "log") if isinstance(item, SuiteCurve)]


@pytest.mark.parametrize(
    ("name", "network", "program", "outcomes"),
    [
        ("hash-eaten-one-rank", "100GbE", "unnamed collective", (INVALID,)),
        ("hash-eaten-error-column", "nvlink3", "all_reduce_perf", (WARN,)),
        ("rank-within-rows", EIGHT, "all_reduce_perf", (FAIL,)),
        ("table-without-ranks", EIGHT, "all_reduce_perf", (WARN,)),
        ("two-ranks-no-command", "100GbE roce", "sendrecv_perf", (PASS,)),
        ("broadcast-no-verbs", "40GbE", "broadcast_perf", (FAIL,)),
        ("flap-without-port", EIGHT, "all_reduce_perf", (WARN,)),
        ("error-12-and-silence", EIGHT, "all_reduce_perf", (INCONCLUSIVE,)),
        ("pods-sockets", "25GbE", "all_reduce_perf", (PASS,)),
        ("indented-four-of-eight-rails", EIGHT, "all_reduce_perf", (WARN,)),
        ("two-runs-no-command", EIGHT, "all_reduce_perf", (INVALID, PASS)),
        ("reduce-scatter-of-nothing", "hdr", "reduce_scatter_perf", (WARN,)),
        ("all-gather-no-command", EIGHT, "all_gather_perf", (FAIL,)),
        ("alltoall-no-command", EIGHT, "alltoall_perf", (FAIL,)),
        ("one-of-eight-rails", EIGHT, "all_reduce_perf", (WARN,)),
        ("fatal-event", EIGHT, "alltoall_perf", (INCONCLUSIVE,)),
        ("srun-sixteen", EIGHT, "all_reduce_perf", (PASS,)),
    ],
)
def test_each_log_names_its_collective_and_has_its_verdict(
    name: str, network: str, program: str, outcomes: tuple[Outcome, ...]
) -> None:
    found = judged(log(name), network)
    assert tuple(table.outcome for table in found) == outcomes, found
    assert {curve.benchmark for curve in curves(name)} == {program}


@pytest.mark.parametrize(
    "name", ["two-ranks-no-command", "all-gather-no-command", "alltoall-no-command"]
)
def test_rates_that_fit_several_collectives_leave_it_open_with_a_remedy(name: str) -> None:
    """If no data were compared, nothing shows whether the collective is made in place."""
    text = log(name).replace(b"      0", b"    N/A")
    (found,) = judged(text, EIGHT)
    assert found.benchmark == "unnamed collective"
    assert (found.outcome, found.rule) == (SKIPPED, "fraction")
    assert "command" in found.remedy


@pytest.mark.parametrize(
    ("hosts", "outcome"), [((), WARN), (("n1", "n2"), FAIL)], ids=["unknown", "stated"]
)
def test_a_table_without_ranks_is_judged_once_its_nodes_are_stated(
    hosts: tuple[str, ...], outcome: Outcome
) -> None:
    (found,) = judged(log("table-without-ranks"), "ndr rails=4", hosts)
    assert found.outcome is outcome, found


def test_an_event_names_the_node_if_nccl_names_no_port() -> None:
    (found,) = judged(log("flap-without-port"), EIGHT)
    assert found.rule == "errors"
    assert "gpu-b: NET/IB : Got async event : port error" in found.summary


def test_many_other_warnings_do_not_crowd_an_event_out() -> None:
    noise = b"".join(
        b"gpu-a:%d:1 [0] misc/socket.cc:1 NCCL WARN socket %d is closed\n" % (n, n)
        for n in range(100)
    )
    first, last = log("flap-without-port").split(b"\n", 1)
    (found,) = judged(first + b"\n" + noise + last, EIGHT)
    assert (found.outcome, found.rule) == (WARN, "errors"), found


@pytest.mark.parametrize("name", ["error-12-and-silence", "fatal-event"])
def test_a_run_that_broke_says_nothing_of_the_rate(name: str) -> None:
    (found,) = judged(log(name), EIGHT)
    assert (found.outcome, found.rule) == (INCONCLUSIVE, "fraction")
    assert "the run broke" in found.cause


def test_the_same_figures_fail_if_nothing_broke() -> None:
    whole = log("fatal-event").split(b"gpu-a:40100")[0] + b"# Avg bus bandwidth    : 30.1\n"
    (found,) = judged(whole, EIGHT)
    assert found.outcome is FAIL, found


@pytest.mark.parametrize(
    ("adapters", "share", "outcome"),
    [
        (b"mlx5_0", "93.6 %", WARN), (b"=mlx5_0:1", "93.6 %", WARN),
        (b"mlx5_0,mlx5_1", "46.8 %", FAIL),
        (b"mlx5", "11.7 %", FAIL), (b"^mlx5_4", "11.7 %", FAIL),
    ],
)  # fmt: skip
def test_rails_that_a_command_leaves_out_do_not_count(
    adapters: bytes, share: str, outcome: Outcome
) -> None:
    text = log("one-of-eight-rails").replace(b"NCCL_IB_HCA=mlx5_0", b"NCCL_IB_HCA=" + adapters)
    (found,) = judged(text, EIGHT)
    assert found.outcome is outcome, found
    assert share in found.summary


def test_a_name_that_several_adapters_begin_with_takes_no_rail_away() -> None:
    """NCCL takes ``mlx5_1`` for mlx5_10 and mlx5_11 as well."""
    text = log("srun-sixteen").replace(b"srun ", b"NCCL_IB_HCA=mlx5_1 srun ", 1)
    (found,) = judged(text, EIGHT)
    assert found.outcome is PASS, found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("failure-of-hosts", "the program stopped: gpu-a: Test NCCL failure"),
        ("queue-pairs-not-made", "ulimit -l"),
        ("training-log", "node48: NET/IB : Got async event : port error"),
    ],
)
def test_a_log_without_figures_is_refused_with_its_first_trouble(name: str, words: str) -> None:
    found = RefusedFile(name).with_results(list(read([log(name)], "log")))
    assert words in refusal([found])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("NET/IB : Got completion from peer 10.0.35.1<4> with error 4, opcode 1", "nvidia-peermem"),
        ("NET/IB: Got completion from peer 1.2.3.4<5> with status=IBV_WC_REM_ACCESS_ERR(10)",
         "nvidia-peermem"),
        ("NET/IB : Got completion from peer 1.2.3.4<5> with status=5 opcode=2", "port counters"),
        ("Call to ibv_create_cq failed with error Cannot allocate memory", "ulimit -l"),
        ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "ulimit -l"),
    ],
)  # fmt: skip
def test_a_warning_of_nccl_has_its_meaning(line: str, words: str) -> None:
    assert words in meaning(line)
