"""Factors of a suite's programs: builds in turns; what the programs do not heed is refused."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests.report import sample

from fabricgauge.check.plan.design import parse_factor, require_tool_factors
from fabricgauge.cli.verbs import cli
from fabricgauge.compare.sides import find_side
from fabricgauge.features.vary import vary as measured_arms
from fabricgauge.features.vary import varying
from fabricgauge.model.errors import UsageError
from fabricgauge.model.run import Ended, Launch

SUITE = Path(__file__).parents[2] / "fixtures" / "imb" / "2021.11--mpi1-4-ranks.out"


@pytest.mark.parametrize(
    "text", ["compiler=gcc,clang", "transport=ofi,mpi", "env:UCX_TLS=rc,ud", "bind=core,none"]
)
def test_a_factor_that_built_programs_do_not_heed_is_refused(text: str) -> None:
    factor = parse_factor(text)
    with pytest.raises(UsageError, match="tool-path=DIR,DIR"):
        require_tool_factors((factor,), "imb:all")
    require_tool_factors((factor,), "")


@pytest.mark.parametrize(
    "text", ["tool-path=/opt/gcc,/opt/icc", "mpi=openmpi,mpich", "ppn=1,2", "parallel=1,2"]
)
def test_a_factor_of_a_suite_is_heeded(text: str) -> None:
    require_tool_factors((parse_factor(text),), "imb:all")


def test_folders_of_programs_need_a_suite() -> None:
    with pytest.raises(UsageError, match="add --tool"):
        require_tool_factors((parse_factor("tool-path=a,b"),), "")


def test_the_verb_refuses_before_it_looks_for_anything() -> None:
    done = CliRunner().invoke(cli, ["compare", "--vary", "compiler=gcc,clang", "--tool", "imb"])
    assert isinstance(done.exception, UsageError) or done.exit_code == 2
    assert "tool-path=DIR,DIR" in f"{done.output}{done.exception}"


def test_each_arm_has_the_programs_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request by which an arm's programs are found names the arm's own folder and MPI."""
    asked = []

    class Found(Exception):
        pass

    def suite_for(request: object, _progress: object) -> object:
        asked.append((request.tool_path, request.mpi))  # type: ignore[attr-defined]
        raise Found

    from fabricgauge.check.plan.design import make_design
    from fabricgauge.model.request import MeasurementRequest

    class Target:
        request = MeasurementRequest(tool="imb:all")
        ranks = ("c1", "c2")
        progress = None

    monkeypatch.setattr(measured_arms, "suite_for", suite_for)
    factors = (parse_factor("tool-path=/opt/gcc,/opt/icc"), parse_factor("mpi=mpich,openmpi"))
    design = make_design(factors, 3, 1)
    for arm in design.arms:
        with pytest.raises(Found):
            measured_arms._target_of(design, arm, Target())  # type: ignore[arg-type]
    assert asked == list(design.arms)


def test_each_column_of_a_suite_s_tests_is_a_curve_of_its_own() -> None:
    """The suite repeats each test with two and four processes, under one heading."""
    curves = find_side(str(SUITE), SUITE.parent).curves
    run = sample.judged().run
    (planned, *_) = run.plan.launches
    launch = Launch(
        planned.number, "net1", (), None, (), (), Ended("ok", 0, "", (), 0.0), curves=curves
    )
    plan = msgspec.structs.replace(run.plan, launches=(planned,))
    run = msgspec.structs.replace(run, plan=plan, launches=(launch,))
    found = varying._block_figures(run, 0, 1, by_name=False, by_count=False)
    points = [
        (curve, point)
        for curve in curves for point in curve.points if point.estimate.value > 0
    ]  # fmt: skip
    assert len(found) == len(points)
    titles = {column.title for column in found}
    assert {"Benchmarking Bcast, 2 processes", "Benchmarking Bcast, 4 processes"} <= titles
