"""Reports of mpiP and IPM: recorded ones, and some in the forms of their own documents."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.application.other_profilers import ipm_profile, mpip_profile
from fabricgauge.features.application.profile_values import ApplicationProfile
from fabricgauge.model.errors import CannotRun

FIXTURES = Path(__file__).parents[2] / "fixtures"
MPIP = (FIXTURES / "mpip" / "3.5--as-its-guide-shows.out").read_text()
IPM = (FIXTURES / "ipm" / "2.0--two-tasks.xml").read_text()


def test_mpip_s_call_sites_are_rows() -> None:
    found = mpip_profile(MPIP)
    assert (found.program, found.size, found.nodes, found.source) == ("amg", 2, 2, "mpiP")
    assert found.mpi_share == pytest.approx((0.168 + 0.228) / 19.02)
    send, allreduce = sorted(found.mix, key=lambda one: -one.calls)
    assert (send.call, send.calls, send.bytes, send.least_bytes) == ("Send", 80, 480_000, 4096)
    assert send.time_s == pytest.approx(80 * 0.01e-3)
    assert (allreduce.kind, allreduce.calls, allreduce.least_bytes) == ("Collective", 2, None)


def test_ipm_s_tasks_are_summed() -> None:
    found = ipm_profile(IPM)
    assert (found.program, found.size, found.nodes, found.source) == ("app", 2, 2, "IPM")
    gather = next(one for one in found.mix if one.call == "Gather")
    assert (gather.calls, gather.bytes) == (2, 16)
    assert gather.time_s == pytest.approx(1.0743e-02 + 5.0068e-06)
    assert [one.wall_s for one in found.ranks] == [4.5314e-02, 4.6312e-02]


@pytest.mark.parametrize(
    ("read", "text"), [(mpip_profile, "@ mpiP\n"), (ipm_profile, "<ipm_job_profile>\n")]
)
def test_one_without_tasks_is_refused(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(CannotRun, match="expected"):
        read(text)


@given(st.integers(0, 1 << 12), st.text(max_size=30))
def test_damage_never_raises_anything_else(place: int, damage: str) -> None:
    for read, text in ((mpip_profile, MPIP), (ipm_profile, IPM)):
        with suppress(CannotRun):
            read(text[:place] + damage + text[place + len(damage) :])


def read(name: str) -> str:
    return next(FIXTURES.glob(f"*/{name}.*[!a]")).read_text()


def summed(found: ApplicationProfile, call: str) -> tuple[int, int]:
    rows = [one for one in found.mix if one.call == call]
    return sum(one.calls for one in rows), sum(one.bytes for one in rows)


def classes(found: ApplicationProfile, call: str) -> set[int | None]:
    return {one.least_bytes for one in found.mix if one.call == call}


@pytest.mark.parametrize(
    ("name", "ranks"), [("3.5.0--openmpi-three-tasks", 3), ("3.5.0--openmpi-floating", 2)]
)
def test_a_report_of_mpip_says_what_its_program_did(name: str, ranks: int) -> None:
    found = mpip_profile(read(name))
    assert (found.program, found.size, found.nodes) == ("mixed", ranks, 1)
    assert summed(found, "Isend") == (50 * ranks, 300_000 * ranks)
    assert summed(found, "Allreduce") == (20 * ranks, 1280 * ranks)
    assert summed(found, "Recv")[0] == 50 * ranks + 1
    assert summed(found, "Put") == (ranks, 64 * ranks)
    calls, moved = summed(found, "Sendrecv")
    assert calls == 5 * ranks
    assert moved == pytest.approx(1_082_401 * ranks, rel=1e-3)
    assert classes(found, "Isend") == {4096}
    assert classes(found, "Put") == {64}
    assert classes(found, "Sendrecv") == {None}
    assert sum(one.time_s for one in found.mix) == pytest.approx(
        sum(one.mpi_s for one in found.ranks), rel=0.03
    )


def test_a_report_of_mpip_without_call_sites_has_its_totals() -> None:
    found = mpip_profile(read("3.5.0--openmpi-no-sites"))
    assert summed(found, "Isend") == (100, 0)
    assert "twenty with most time" in found.notes[-1]


def test_a_concise_report_of_mpip_is_refused() -> None:
    with pytest.raises(CannotRun, match="without -c"):
        mpip_profile(read("3.5.0--openmpi-concise"))


@pytest.mark.parametrize("size", [1 << power for power in range(31)])
def test_a_power_of_two_is_of_its_own_class_as_mpip_prints_it(size: int) -> None:
    row = f"Send 5 * 80 {size:.4g} {size:.4g} {size:.4g} {80 * size:.4g}"
    text = MPIP.replace(
        next(line for line in MPIP.splitlines() if "4.8e+05" in line and "*" in line), row
    )
    assert classes(mpip_profile(text), "Send") == {size}


def test_ipm_s_full_log_tells_sizes() -> None:
    found = ipm_profile(read("2.0.6--openmpi-full"))
    assert (found.program, found.size, found.nodes) == ("mixed", 3, 1)
    assert summed(found, "Isend") == (150, 150 * 5120), "IPM keeps three binary digits of 6,000"
    assert classes(found, "Sendrecv") == {1, 32, 1024, 32768, 1 << 20}
    assert summed(found, "Sendrecv") == (15, 3 * 1_082_401)
    assert classes(found, "Recv") == {None}
    assert sum(one.calls for one in found.mix) == sum(one.calls for one in found.ranks) == 554


def test_regions_of_ipm_count_once_and_receives_have_no_bytes() -> None:
    found = ipm_profile(read("2.0.6--openmpi-regions-terse"))
    assert summed(found, "Sendrecv")[0] == 15
    assert summed(found, "Allreduce") == (60, 60 * 64)
    assert summed(found, "Recv") == (151, 0)
    assert "IPM_LOG=full" in found.notes[-1]


def test_a_task_of_ipm_that_names_no_host_does_not_take_the_one_before_its_own() -> None:
    first, second = IPM.split("</task>", 1)
    found = ipm_profile(f"{first}</task>{second.replace('<host', '<was')}")
    assert [one.host for one in found.ranks] == [ipm_profile(IPM).ranks[0].host, ""]
    assert found.nodes == 2
