"""Buffers on a GPU: copies as the limit, and staging by MPI's words, by TCP and by the copies."""

from collections.abc import Iterable

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.model.measurement import CopyTimes, Measurement, RankMemory
from fabricgauge.model.memory import DIRECT, STAGED, MemoryKind
from fabricgauge.model.run import CARRIED_BY, Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

FAST = 25e9


def on_gpus(
    launches: Iterable[Launch], to_host: float, to_device: float = FAST,
    ends: tuple[MemoryKind, MemoryKind] = ("cuda", "cuda"),
) -> list[Launch]:  # fmt: skip
    """Both ends' buffers on GPUs, with copies of these rates in bytes/s at every size."""

    def lain(one: Measurement) -> Measurement:
        kinds = ends if one.origin == 0 else ends[::-1]
        memory = tuple(RankMemory(rank, kind) for rank, kind in enumerate(kinds))
        return msgspec.structs.replace(one, memory=memory)

    copies = tuple(CopyTimes(size, size / to_device, size / to_host) for size in planted.SIZES)
    return [
        msgspec.structs.replace(
            one, placements=tuple(msgspec.structs.replace(p, copies=copies) for p in one.placements)
        )
        for one in planted.changed(launches, lain)
    ]


def run_of(launches: list[Launch], said: str = "") -> Run:
    return msgspec.structs.replace(planted.run(launches), environment={f"{CARRIED_BY}net1": said})


def bandwidth(of: Run, outcome: Outcome) -> Verdict:
    given = planted.by_rule(planted.verdicts(of), "fraction")
    found = [one for one in given if one.about.series == "bandwidth" and one.outcome is outcome]
    assert found, [(one.outcome, one.summary) for one in given]
    return found[0]


def slow(fraction: float = 0.3) -> tuple[Launch, ...]:
    return planted.without_sockets(planted.sound_launches(fraction))


def test_fraction_names_the_copy_when_a_stream_is_as_slow_as_it() -> None:
    rate = 0.31 * planted.CEILING_BYTES_PER_S
    verdict = bandwidth(run_of(on_gpus(slow(), to_host=rate)), Outcome.FAIL)
    assert "the copy from GPU to host on c1 carries only 36.48 MB/s" in verdict.cause
    assert "nvidia-smi -q" in verdict.remedy and "GPUDirect RDMA" in verdict.remedy
    told = " ".join(verdict.evidence)
    assert "the copy from GPU to host on c1 carries 36.48 MB/s at 4 MiB; the figure is 96" in told
    assert STAGED not in told and DIRECT not in told


def test_the_copy_stays_the_cause_where_a_host_limits_the_figure() -> None:
    """TCP had data under way for a small part of the time, as its sender waited for copies."""

    def waited(one: Measurement) -> Measurement:
        seldom = tuple(
            tuple(msgspec.structs.replace(socket, busy_s=0.1) for socket in one.sockets_of(rank))
            for rank in (0, 1)
        )
        return msgspec.structs.replace(one, sockets=seldom)

    launches = planted.changed(planted.sound_launches(0.3), waited)
    rate = 0.3 * planted.CEILING_BYTES_PER_S
    given = planted.by_rule(planted.verdicts(run_of(on_gpus(launches, rate))), "fraction")
    causes = [one.cause for one in given if one.about.series == "bandwidth"]
    assert causes and all("limits the stream: messages are staged" in one for one in causes), causes


def test_the_slowest_of_the_copies_that_a_message_needs_is_named() -> None:
    rate = 0.3 * planted.CEILING_BYTES_PER_S
    verdict = bandwidth(run_of(on_gpus(slow(), FAST, to_device=rate)), Outcome.FAIL)
    assert "the copy from host to GPU on c2" in verdict.cause


def test_an_end_in_host_memory_needs_no_copy() -> None:
    rate = 0.3 * planted.CEILING_BYTES_PER_S
    host_at_target = on_gpus(slow(), FAST, to_device=rate, ends=("cuda", "host"))
    verdict = bandwidth(run_of(host_at_target), Outcome.FAIL)
    assert "copy" not in verdict.cause
    assert "the copy from GPU to host on c1 carries 25,000 MB/s" in " ".join(verdict.evidence)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_a_copy_of_another_rate_is_no_cause(rate: float) -> None:
    rate *= planted.CEILING_BYTES_PER_S
    verdict = bandwidth(run_of(on_gpus(slow(), to_host=rate)), Outcome.FAIL)
    assert "limits the stream" not in verdict.cause


def test_host_memory_has_no_word_of_copies() -> None:
    verdict = bandwidth(run_of(list(slow())), Outcome.FAIL)
    assert "GPU" not in verdict.cause + " ".join(verdict.evidence)


@pytest.mark.parametrize(
    ("said", "way"),
    [
        (f"rc_mlx5/mlx5_0:1, cuda/GPU0 from 8247 B {STAGED} (rendezvous cuda_copy, …)", STAGED),
        (f"rc_mlx5/mlx5_0:1, cuda/GPU0 from 1 B {DIRECT} (zero-copy) by rc_mlx5/mlx5_0:1", DIRECT),
    ],
)
def test_the_way_of_messages_is_told_by_what_mpi_said(said: str, way: str) -> None:
    rate = 0.3 * planted.CEILING_BYTES_PER_S
    verdict = bandwidth(run_of(on_gpus(slow(), rate), said), Outcome.FAIL)
    assert f"were {way}: MPI reported that it used {said}" in " ".join(verdict.evidence)
    assert f"limits the stream: messages are {way}" in verdict.cause


def test_what_tcp_carried_was_staged_whatever_else_is_said() -> None:
    launches = on_gpus(planted.sound_launches(), FAST)
    verdict = bandwidth(run_of(launches, DIRECT), Outcome.PASS)
    assert f"were {STAGED}: TCP connections carried them" in " ".join(verdict.evidence)


def test_what_is_faster_than_the_copy_was_not_staged() -> None:
    launches = on_gpus(planted.without_sockets(planted.sound_launches()), to_host=60e6)
    told = " ".join(bandwidth(run_of(launches), Outcome.PASS).evidence)
    assert f"were {DIRECT}: they are faster than the copy from GPU to host on c1" in told
