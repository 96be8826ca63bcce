"""Reports of mpiP and IPM, in the forms of their own documents."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.errors import CannotRun
from fabricgauge.parse.other_profilers import ipm_profile, mpip_profile

FIXTURES = Path(__file__).parents[1] / "fixtures"
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


def test_a_concise_report_of_mpip_says_what_it_lacks() -> None:
    found = mpip_profile(MPIP.partition("@--- Callsites")[0])
    assert found.mix == ()
    assert "only the time in MPI" in found.notes[-1]


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
