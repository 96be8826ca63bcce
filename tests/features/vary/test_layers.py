"""What each layer adds to the one named before it, on figures whose answer is known."""

from pathlib import Path

import numpy as np
import pytest
from tests import rdma_nodes
from tests.judge import planted
from tests.nodes.discover.test_ports import alike

from fabricgauge.features.vary.layers import layers, median
from fabricgauge.features.vary.varying import compare_arms, from_figures
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.run import Run
from fabricgauge.model.varied import Column, Design, Factor
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

BLOCKS = 9
COLUMNS = (Column("half round trip", "time", 8), Column("half round trip", "time", 1024))
LEVELS = ("sockets", "ofi", "mpi")


def design(name: str = "transport", levels: tuple[str, ...] = LEVELS) -> Design:
    arms = tuple((one,) for one in levels)
    order = (tuple(range(len(levels))),) * BLOCKS
    return Design((Factor(name, levels),), arms, (), order, 1)


def logs() -> np.ndarray:
    """Sockets 10 µs and drifting, ofi always 2 µs more, mpi 1 µs more than that."""
    drift = np.linspace(0.0, 4e-6, BLOCKS)[None, :, None]
    base = np.array([10e-6, 12e-6, 13e-6])[:, None, None]
    figures: np.ndarray = np.log(base + drift + np.array([0.0, 5e-6])[None, None, :])
    return figures


def test_each_layer_is_held_against_the_one_named_before_it_block_by_block() -> None:
    found = layers(design(), COLUMNS, logs())
    small = [one for one in found if one.message_bytes == 8]
    assert [one.level for one in small] == list(LEVELS)
    assert small[0].added is None
    assert small[0].figure.value == pytest.approx(12e-6)
    added = [one.added for one in small[1:]]
    assert [one.value for one in added if one] == pytest.approx([2e-6, 1e-6])
    # What drifts from block to block touches both alike.
    assert all(one.high - one.low < 1e-12 for one in added if one)


def test_a_layer_that_was_not_measured_says_nothing_of_the_next() -> None:
    some = logs()
    some[1, :, 0] = np.nan
    small = [one for one in layers(design(), COLUMNS, some) if one.message_bytes == 8]
    assert [(one.level, one.added) for one in small] == [("sockets", None), ("mpi", None)]


@pytest.mark.parametrize(
    ("name", "tolerance", "finding"),
    [("transport", 0.0, "different"), ("transport", 0.1, "worse"), ("mpi", 0.0, "worse")],
)
def test_a_layer_adds_to_the_one_below_it_and_is_worse_beyond_a_stated_tolerance_alone(
    name: str, tolerance: float, finding: str
) -> None:
    assert from_figures(design(name), COLUMNS, logs(), tolerance).finding == finding


def test_other_factors_are_no_layers() -> None:
    assert layers(design("mpi"), COLUMNS, logs()) == ()
    assert from_figures(design(), COLUMNS, logs(), 0.0).layers
    assert from_figures(design("bind"), COLUMNS, logs(), 0.0).layers == ()


@pytest.mark.parametrize(
    ("levels", "are_layers"),
    [
        (("verbs", "ofi:provider=verbs;ofi_rxm", "mpi"), True),
        (("sockets", "ofi:provider=tcp", "ofi:provider=tcp;ofi_rxm"), True),
        (("verbs:path-mtu=256", "verbs:path-mtu=4096", "mpi"), False),
        (("sockets", "ofi:provider=tcp,messages=plain", "ofi:messages=tagged,provider=tcp"), False),
    ],
)
def test_settings_of_one_layer_are_no_layers(levels: tuple[str, ...], are_layers: bool) -> None:
    assert bool(layers(design(levels=levels), COLUMNS, logs())) is are_layers


def test_the_interval_of_a_median_is_made_of_order_statistics() -> None:
    nine = median(np.arange(1.0, 10.0))
    assert nine is not None
    # The second of nine lies below the median with all but 2 %: 1 - 2 (1 + 9) / 512.
    assert (nine.value, nine.low, nine.high) == (5.0, 2.0, 8.0)
    assert nine.confidence == pytest.approx(1 - 20 / 512)
    many = median(np.arange(65.0))
    assert many is not None
    assert (many.value, many.low, many.high) == (32.0, 24.0, 40.0)
    three = median(np.array([1.0, 2.0, 3.0]))
    assert three is not None
    assert not three.supported
    assert median(np.array([np.nan])) is None


def stored(folder: Path, of: Fabric, network: str, *interfaces: str, tcp: bool) -> Run:
    """A run whose bytes crossed these interfaces, as it is read from its directory."""
    split = {one: 1 / len(interfaces) for one in interfaces}
    cases = [planted.measurement(one, split=split) for one in planted.samples()]
    launches = tuple(planted.launch(cases, number, network) for number in (1, 2, 3))
    made = planted.run(launches if tcp else planted.without_sockets(launches), of=of)
    directory = RunDirectory.create(folder)
    about = run_files.About(made.started_utc, made.command, {})
    run_files.write_beginning(directory, about, made.fabric, made.plan)
    for one in made.launches:
        run_files.append_records(directory, one.number, 1, one.placements)
        run_files.append_records(directory, one.number, 1, one.measurements)
        started = run_files.LaunchLine(one.number, 1, one.network, one.nodes, one.ended, ())
        run_files.append_launch(directory, started)
    directory.finish()
    return run_files.load(directory)


@pytest.mark.parametrize(
    ("cards", "first", "second", "told"),
    [
        (None, ("net1", "eth0"), ("net1", "eth0"), ""),
        (None, ("net1", "eth0"), ("net2", "eth1"),
         "at c1 the bytes of mpi crossed eth1, the arms before it eth0"),
        (None, ("net1", "eth0", "eth1"), ("net1", "eth0", "eth1"),
         "at c1 the bytes of sockets crossed eth0 and eth1"),
        (None, ("net1", "lo"), ("net1", "eth0"),
         "at c1 the bytes of mpi crossed eth0, the arms before it lo"),
        (rdma_nodes.ROCE, ("10.30.0.0/24", "ens1f0np0"), ("roce", "mlx5_0:1"), ""),
        (rdma_nodes.HDR, ("10.20.0.0/24", "ib0"), ("infiniband", "mlx5_0:1"), ""),
        (rdma_nodes.NDR, ("infiniband-rail1", "mlx5_0:1"), ("infiniband-rail2", "mlx5_1:1"),
         "at c1 the bytes of mpi crossed mlx5_1, the arms before it mlx5_0"),
    ],
)  # fmt: skip
def test_a_ledger_is_made_of_runs_that_crossed_one_wire_alone(
    cards: tuple[rdma_nodes.Card, ...] | None,
    first: tuple[str, ...], second: tuple[str, ...], told: str, tmp_path: Path,
) -> None:  # fmt: skip
    of = alike(cards) if cards else planted.fabric()
    runs = [
        stored(tmp_path / f"{arm}", of, network, *wires, tcp=":" not in wires[0])
        for arm, (network, *wires) in enumerate((first, second))
    ]
    factor, arms = Factor("transport", ("sockets", "mpi")), (("sockets",), ("mpi",))
    found = compare_arms(Design((factor,), arms, (), ((0, 1),) * 3, 1), runs, 0.0)
    assert bool(found.layers) is not bool(told), found.notes
    assert [note.split(": ", 1)[1] for note in found.notes] == ([told] if told else [])
    assert found.effects
