"""Factors of a suite's programs: builds in turns; what the programs do not heed is refused."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fabricgauge.check.plan.design import parse_factor, require_tool_factors
from fabricgauge.cli.verbs import cli
from fabricgauge.features.vary import vary as measured_arms
from fabricgauge.model.errors import UsageError


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
