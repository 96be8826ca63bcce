from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabricgauge.model.errors import StoreError
from fabricgauge.model.pairs import PairMatrix, Quantity
from fabricgauge.store.matrices import NAME, write_matrices
from fabricgauge.store.run_directory import RunDirectory


def matrix(
    quantity: Quantity = "latency",
    nodes: tuple[str, ...] = ("c1", "c2", "c3"),
    repeats: int = 1,
    share: float = 1.0,
) -> PairMatrix:
    count = len(nodes)
    random = np.random.default_rng(7)
    figures = random.uniform(1e-6, 2e-6, (repeats, count, count))
    figures[:, random.uniform(size=(count, count)) > share] = np.nan
    figures[:, range(count), range(count)] = np.nan
    values = figures[0] if repeats == 1 else np.median(figures, axis=0)
    spread = (values * 0 + 0.02).astype(np.float32)
    return PairMatrix("net1", quantity, 8, nodes, values, spread, figures)


def read(directory: RunDirectory) -> tuple[PairMatrix, ...]:
    """The file as anybody with NumPy reads it."""
    found = []
    with np.load(directory.path / NAME, allow_pickle=False) as archive:
        for key in archive["matrices"]:
            network, quantity, size = map(str, archive[f"{key}.about"])
            values = archive[f"{key}.values"]
            repeats = f"{key}.repeats"
            found.append(PairMatrix(
                network, "latency" if quantity == "latency" else "bandwidth", int(size),
                tuple(map(str, archive[f"{key}.nodes"])), values, archive[f"{key}.spread"],
                archive[repeats] if repeats in archive else values[None],
            ))  # fmt: skip
    return tuple(found)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path)


def assert_same(one: PairMatrix, other: PairMatrix) -> None:
    assert (one.network, one.quantity, one.message_bytes) == (
        other.network, other.quantity, other.message_bytes,
    )  # fmt: skip
    assert one.nodes == other.nodes
    for name in ("values", "spread", "repeats"):
        assert getattr(one, name).dtype == np.float32
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-7)


@pytest.mark.parametrize("share", [1.0, 0.2])
@pytest.mark.parametrize("repeats", [1, 3])
def test_what_was_written_is_read(directory: RunDirectory, repeats: int, share: float) -> None:
    written = (matrix(repeats=repeats, share=share), matrix("bandwidth", ("a", "b"), repeats))
    write_matrices(directory, written)
    found = read(directory)
    assert len(found) == 2
    for one, other in zip(found, written, strict=True):
        assert_same(one, other)


def test_numpy_reads_the_file_as_it_is_without_pickles(directory: RunDirectory) -> None:
    write_matrices(directory, [matrix()])
    with np.load(directory.path / NAME, allow_pickle=False) as archive:
        (key,) = archive["matrices"]
        assert archive[f"{key}.nodes"].tolist() == ["c1", "c2", "c3"]
        assert archive[f"{key}.values"].dtype == np.float32


def test_names_of_any_characters_come_back(directory: RunDirectory) -> None:
    nodes = ("<script>", "../../x", "nöde\x1b[31m", "a" * 300)
    write_matrices(directory, [matrix(nodes=nodes)])
    assert read(directory)[0].nodes == nodes


def test_of_no_pairs_there_are_no_matrices(directory: RunDirectory) -> None:
    write_matrices(directory, [])
    assert read(directory) == ()


def test_no_draft_is_left_and_the_former_file_is_replaced(directory: RunDirectory) -> None:
    write_matrices(directory, [matrix()])
    write_matrices(directory, [matrix("bandwidth")])
    assert [one.quantity for one in read(directory)] == ["bandwidth"]
    assert sorted(path.name for path in directory.path.iterdir()) == [NAME, "raw"]


def test_writing_fails_with_the_path_when_the_directory_is_gone(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=NAME):
        write_matrices(RunDirectory(tmp_path / "none"), [matrix()])


figures = arrays(np.float64, (1, 2, 2), elements=st.floats(1e-9, 1e12))


@settings(max_examples=30, deadline=None)
@given(figures)
def test_seven_digits_survive(
    tmp_path_factory: pytest.TempPathFactory,
    repeats: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    directory = RunDirectory.create(tmp_path_factory.mktemp("runs"))
    one = PairMatrix("n", "bandwidth", 1, ("a", "b"), repeats[0], repeats[0] * 0, repeats)
    write_matrices(directory, [one])
    assert_same(read(directory)[0], one)
