"""What OSU and IMB print of a collective is read as the mean over ranks, in seconds."""

from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import imb, osu
from fabricgauge.model.errors import CannotRun

FIXTURES = Path(__file__).parents[1] / "fixtures"
BIN = Path("/opt/suite")


def test_osu_means_are_read_with_and_without_a_size() -> None:
    allreduce = (FIXTURES / "osu" / "7.4--allreduce-full.out").read_text()
    assert osu.collective_s(allreduce, 8) == pytest.approx(0.82e-6)
    barrier = (FIXTURES / "osu" / "7.4--barrier-full.out").read_text()
    assert osu.collective_s(barrier, 0) == pytest.approx(1.20e-6)


def test_imb_means_are_read_with_and_without_a_size() -> None:
    rows = """\
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.07         0.09         0.08
           64         1000         0.74         0.83         0.78
"""
    assert imb.collective_s(rows, 64) == pytest.approx(0.78e-6)
    barrier = """\
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.38         0.40         0.39
"""
    assert imb.collective_s(barrier, 0) == pytest.approx(0.39e-6)


@pytest.mark.parametrize("suite", [osu, imb])
def test_a_figure_fails_when_the_row_is_missing(suite: ModuleType) -> None:
    with pytest.raises(CannotRun, match="no row for 64 bytes"):
        suite.collective_s("# Size  Avg Latency(us)\n128   1.0\n", 64)


def test_commands_name_program_size_and_ranks() -> None:
    program, options = osu.collective(BIN, "allreduce", 64, 4, 100)
    assert program == "/opt/suite/osu_allreduce"
    assert options[:2] == ["-m", "64:64"]
    assert "mpi_float" in options
    program, options = imb.collective(BIN, "allreduce", 64, 4, 100)
    assert (program, options[0]) == ("/opt/suite/IMB-MPI1", "Allreduce")
    assert options[options.index("-msglog") + 1] == "6:6"
    assert options[options.index("-npmin") + 1] == "4"


@pytest.mark.parametrize("suite", [osu, imb])
def test_a_barrier_has_no_size(suite: ModuleType) -> None:
    _, options = suite.collective(BIN, "barrier", 0, 2, 100)
    assert not {"-m", "-msglog"} & set(options)
