"""What SimGrid's exit status does not tell."""

import pytest

from fabricgauge.sim.simulate import trouble

FOOTER = '{"record":"footer","cases":1,"wall_s":0.1}\n'

#: Seen with SimGrid 3.32.
DEADLOCK = (
    "[0.000005] ./src/kernel/EngineImpl.cpp:718: [ker_engine/CRITICAL] Oops! Deadlock detected, "
    "some activities are still around but will never complete.\n"
    "[0.000005] [ker_engine/INFO] 1 actors are still running, waiting for something.\n"
)
ABORT = (
    "[node-1:1:(2) 0.000001] ./src/smpi/bindings/smpi_pmpi.cpp:138: [smpi_pmpi/WARNING] MPI_Abort "
    "was called, something went probably wrong in this simulation !\n" + DEADLOCK
)


def test_a_launch_that_wrote_its_footer_and_ended_is_whole() -> None:
    assert trouble(0, FOOTER, "[0.1] [smpi_coll/INFO] Switch to algorithm ompi\n") == ""


@pytest.mark.parametrize(
    ("exit_code", "stdout", "stderr", "said"),
    [
        (0, FOOTER, DEADLOCK, "deadlock"),
        (0, "", ABORT, "MPI_Abort"),
        (0, '{"record":"header"}\n', "", "before the engine's last record; it said nothing"),
        (
            70,
            FOOTER,
            "fabricgauge-engine: x\nmore\n",
            "exit status 70; it said: fabricgauge-engine",
        ),
        (-11, "", "Segmentation fault.\n", "exit status -11"),
    ],
)
def test_a_launch_is_in_trouble_when(exit_code: int, stdout: str, stderr: str, said: str) -> None:
    assert said in trouble(exit_code, stdout, stderr)
