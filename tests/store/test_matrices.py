import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabricgauge.model.errors import StoreError
from fabricgauge.model.pairs import PairMatrix, Quantity
from fabricgauge.store.matrices import NAME, read_matrices, write_matrices
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


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path)


def assert_same(one: PairMatrix, other: PairMatrix) -> None:
    assert (one.network, one.quantity, one.message_bytes) == (
        other.network, other.quantity, other.message_bytes,
    )  # fmt: skip
    assert one.nodes == other.nodes
    for name in ("values", "spread", "repeats"):
        assert getattr(one, name).dtype == (np.float32 if name == "spread" else np.float64)
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-7)


@pytest.mark.parametrize("share", [1.0, 0.2])
@pytest.mark.parametrize("repeats", [1, 3])
def test_what_was_written_is_read(directory: RunDirectory, repeats: int, share: float) -> None:
    written = (matrix(repeats=repeats, share=share), matrix("bandwidth", ("a", "b"), repeats))
    write_matrices(directory, written)
    read = read_matrices(directory)
    assert len(read) == 2
    for one, other in zip(read, written, strict=True):
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
    assert read_matrices(directory)[0].nodes == nodes


def test_a_run_without_pairs_has_no_matrices(directory: RunDirectory) -> None:
    assert read_matrices(directory) == ()
    write_matrices(directory, [])
    assert read_matrices(directory) == ()


def test_no_draft_is_left_and_the_former_file_is_replaced(directory: RunDirectory) -> None:
    write_matrices(directory, [matrix()])
    write_matrices(directory, [matrix("bandwidth")])
    assert [one.quantity for one in read_matrices(directory)] == ["bandwidth"]
    assert sorted(path.name for path in directory.path.iterdir()) == [NAME, "raw"]


def test_writing_fails_with_the_path_when_the_directory_is_gone(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=NAME):
        write_matrices(RunDirectory(tmp_path / "none"), [matrix()])


@pytest.mark.parametrize("cut", [0, 10, 200, 700])
def test_a_cut_off_file_is_called_damaged(directory: RunDirectory, cut: int) -> None:
    write_matrices(directory, [matrix()])
    path = directory.path / NAME
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(StoreError, match="damaged"):
        read_matrices(directory)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1200), st.integers(1, 255))
def test_a_changed_byte_is_read_or_called_damaged_but_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, place: int, change: int
) -> None:
    directory = RunDirectory.create(tmp_path_factory.mktemp("runs"))
    write_matrices(directory, [matrix()])
    data = bytearray((directory.path / NAME).read_bytes())
    data[place % len(data)] ^= change
    (directory.path / NAME).write_bytes(data)
    try:
        (read,) = read_matrices(directory)
    except (StoreError, ValueError) as error:
        assert isinstance(error, StoreError)
    else:
        assert read.values.shape == (len(read.nodes), len(read.nodes))


def test_arrays_that_do_not_fit_together_are_damage(directory: RunDirectory) -> None:
    write_matrices(directory, [matrix()])
    path = directory.path / NAME
    with np.load(path) as archive:
        kept = {name: archive[name] for name in archive.files}
    key = str(kept["matrices"][0])
    for name, bad in (
        (f"{key}.values", np.zeros((2, 2), np.float32)),
        (f"{key}.values", np.zeros((3, 3), np.int64)),
        (f"{key}.about", np.array(["net1", "colour", "8"])),
        (f"{key}.about", np.array(["net1", "latency", "many"])),
        (f"{key}.nodes", np.array(["c1"])),
    ):
        with path.open("wb") as file:
            np.savez(file, **{**kept, name: bad})
        with pytest.raises(StoreError, match="damaged"):
            read_matrices(directory)


def test_a_pickle_is_refused(directory: RunDirectory) -> None:
    np.savez(directory.path / NAME, matrices=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StoreError, match="damaged"):
        read_matrices(directory)


def test_a_member_that_claims_to_be_huge_is_damage(directory: RunDirectory) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000000), }"
    with zipfile.ZipFile(directory.path / NAME, "w") as archive:
        length = len(header).to_bytes(2, "little")
        archive.writestr("matrices.npy", b"\x93NUMPY\x01\x00" + length + header)
    with pytest.raises(StoreError, match="damaged"):
        read_matrices(directory)


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
    assert_same(read_matrices(directory)[0], one)
