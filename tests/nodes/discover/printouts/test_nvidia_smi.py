import pytest
from tests.nodes.discover.printouts.reading import parse, raw, read

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import GpuLink, Nearness, PcieLink


def test_gpus_are_listed_with_their_bus() -> None:
    found = read("nvidia-smi", "550--query").gpus
    assert [(gpu.index, gpu.bus) for gpu in found] == [(0, "0000:19:00.0"), (1, "0000:9b:00.0")]
    assert found[0].product == "NVIDIA H100 80GB HBM3"


def test_the_heads_of_the_columns_may_be_left_out() -> None:
    text = raw("nvidia-smi", "550--query")
    assert parse("nvidia-smi", text.partition("\n")[2]) == parse("nvidia-smi", text)


def test_columns_are_found_by_their_heads() -> None:
    parts = parse("nvidia-smi", "pci.bus_id, index, name\n00000000:19:00.0, 3, A100\n")
    assert [(gpu.index, gpu.bus, gpu.product) for gpu in parts.gpus] == [
        (3, "0000:19:00.0", "A100")
    ]


def test_nearness_is_by_the_legends_names() -> None:
    parts = read("nvidia-smi", "550--topo")
    assert parts.nearness == (
        Nearness(0, "mlx5_0", "PIX"), Nearness(0, "mlx5_1", "NODE"),
        Nearness(0, "mlx5_bond_0", "SYS"), Nearness(1, "mlx5_0", "SYS"),
        Nearness(1, "mlx5_1", "SYS"), Nearness(1, "mlx5_bond_0", "PXB"),
    )  # fmt: skip
    assert [(gpu.index, gpu.numa_node) for gpu in parts.gpus] == [(0, 0), (1, 1)]


def test_without_the_legend_the_columns_names_are_kept() -> None:
    text = raw("nvidia-smi", "550--topo").partition("NIC Legend")[0]
    assert {one.adapter for one in parse("nvidia-smi", text).nearness} == {"NIC0", "NIC1", "NIC2"}


def test_blanks_for_tabs_change_nothing() -> None:
    text = raw("nvidia-smi", "550--topo").expandtabs(8)
    for sequence in ("\x1b[4m", "\x1b[0m"):
        assert sequence in text
        text = text.replace(sequence, "")
    assert parse("nvidia-smi", text) == read("nvidia-smi", "550--topo")


def test_an_old_driver_names_the_adapter_and_says_soc() -> None:
    parts = read("nvidia-smi", "387--topo")
    assert parts.nearness == (Nearness(0, "mlx4_0", "PHB"), Nearness(1, "mlx4_0", "SYS"))
    assert all(isinstance(gpu.numa_node, Skipped) for gpu in parts.gpus)


@pytest.mark.parametrize("affinity", ["0-1", "N/A", "x"])
def test_a_gpu_near_to_several_nodes_has_no_single_one(affinity: str) -> None:
    text = f"\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-63\t{affinity}\n"
    (gpu,) = parse("nvidia-smi", text).gpus
    assert isinstance(gpu.numa_node, Skipped)


def test_nvlinks_are_per_direction_and_dead_ones_do_not_count() -> None:
    first, second = read("nvidia-smi", "550--nvlink").gpus
    assert first.links_bit_s == (26.562 * 8e9,) * 3
    assert (second.product, second.links_bit_s) == ("NVIDIA H100 PCIe", ())


def test_what_is_between_gpus_is_told_and_one_printout_may_hold_all() -> None:
    text = "".join(raw("nvidia-smi", f"550--{part}") for part in ("topo", "nvlink", "query"))
    parts = parse("nvidia-smi", text)
    assert parts.gpu_links == (GpuLink(0, 1, "NV18"), GpuLink(1, 0, "NV18"))
    assert parts.nearness == read("nvidia-smi", "550--topo").nearness
    assert len(parts.gpus) == 6
    assert {gpu.bus for gpu in parts.gpus if gpu.bus} == {"0000:19:00.0", "0000:9b:00.0"}


def test_the_slot_is_told_where_it_was_asked_for() -> None:
    (gpu,) = parse(
        "nvidia-smi",
        "index, name, pci.bus_id, pcie.link.gen.max, pcie.link.width.max\n"
        "0, NVIDIA L4, 00000000:01:00.0, 4, 16\n",
    ).gpus
    assert gpu.pcie_capable == PcieLink(16.0, 16)
