"""Collectives between ranks that have nothing but TCP between them."""

from pathlib import Path

import pytest
from tests.nodes.engines.path_samples import programs, sends, started, usual, warm

from fabricgauge.features.path.programs import PathPrograms
from fabricgauge.nodes.launch.mpi_impls.mpich import OVER_LOOPBACK

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module")
def built() -> PathPrograms:
    return programs()


@pytest.mark.parametrize("call", ["bcast", "allreduce", "barrier"])
def test_a_collective_over_tcp_sends_as_often_as_its_algorithm_has_rounds(
    built: PathPrograms, tmp_path: Path, call: str
) -> None:
    """A tree, recursive doubling and dissemination have one round on 2 ranks, two on 4."""
    sent = {}
    for ranks in (2, 4):
        calls, ended = started(
            tmp_path / str(ranks), built, call, ranks=ranks, env=OVER_LOOPBACK, limit_s=60
        )
        assert (ended.status, len(warm(calls))) == ("ok", 20), ended.message
        sent[ranks] = usual([sends(one) for one in warm(calls)])
    assert sent == {2: 1, 4: 2}
