"""GPUs beside adapters: distances as nvidia-smi printed them for others, faults planted."""

from functools import partial

import msgspec
import pytest
from tests.doctor import clusters
from tests.doctor.clusters import NO, clean, findings, only, with_fact, with_inventory
from tests.nodes.discover.printouts.reading import read

from fabricgauge.doctor.examining import examine
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.inventory import Gpu, Inventory, PcieLink
from fabricgauge.model.preflight import Preflight
from fabricgauge.nodes.discover.printouts.parsing import Parts

A100, PCIE = "470--a100-ten-adapters", "384--eight-gpus-one-adapter"
MODULES = ("ib_uverbs", "mlx5_core", "mlx5_ib", "nvidia", "nvidia_peermem")


def equipped(
    preflight: Preflight, name: str, parts: Parts, idle: tuple[int, ...] = ()
) -> Preflight:
    """The node gets the GPUs of a printout and its adapters; those of ``idle`` have no link."""
    devices = sorted({near.adapter for near in parts.nearness}, key=lambda one: int(one[5:]))

    def change(one: Inventory) -> Inventory:
        added = [
            msgspec.structs.replace(
                clusters.hca(numa_node=NO), bus=f"0000:{0xA0 + n:02x}:00.0", interfaces=(),
                rdma_devices=(device,),
            )
            for n, device in enumerate(devices)
        ]  # fmt: skip
        ports = [
            clusters.port(
                device=device, lid=20 + n, interface=NO, state="DOWN" if n in idle else "ACTIVE",
                physical="Disabled" if n in idle else "LinkUp",
            )
            for n, device in enumerate(devices)
        ]  # fmt: skip
        return msgspec.structs.replace(
            one, adapters=(one.adapters[0], *added), rdma_ports=tuple(ports), gpus=parts.gpus,
            nearness=parts.nearness, modules=MODULES, sources=("survey",),
        )  # fmt: skip

    return with_inventory(preflight, name, change)


def cluster(case: str, **idle: tuple[int, ...]) -> Preflight:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = equipped(preflight, name, read("nvidia-smi", case), idle.get(name, ()))
    return preflight


def of_gpus(preflight: Preflight) -> list[Finding]:
    return [one for one in findings(preflight) if one.check == "gpu"]


def test_without_a_gpu_nothing_is_looked_at() -> None:
    (checked,) = [one for one in examine(clean()) if one.check == "gpu"]
    assert checked.findings == ()
    assert checked.skipped is not None and checked.skipped.reason == "no node has a GPU"


def test_gpus_below_a_switch_with_working_adapters_are_sound() -> None:
    assert of_gpus(cluster(A100)) == []


def test_gpus_that_lost_their_near_adapters_name_them() -> None:
    found, *others = of_gpus(cluster(A100, c2=(4, 5)))
    assert (found.where, found.severity) == ("c2", Severity.WARN)
    assert "GPUs 4 and 5 nearer to an idle adapter" in found.what
    assert found.evidence[0] == (
        "c2: GPU 4 (NUMA node 7): nearest adapter that works is mlx5_0 (SYS); idle is mlx5_4 (PXB)"
    )
    assert others == []


def test_one_of_two_near_adapters_suffices() -> None:
    assert of_gpus(cluster(A100, c2=(4,))) == []


def test_another_product_that_is_idle_is_not_missed() -> None:
    def other(one: Inventory) -> Inventory:
        replaced = tuple(
            msgspec.structs.replace(a, product="X722") if {"mlx5_4", "mlx5_5"} & {*a.rdma_devices}
            else a
            for a in one.adapters
        )  # fmt: skip
        return msgspec.structs.replace(one, adapters=replaced)

    (found,) = of_gpus(with_inventory(cluster(A100, c2=(4, 5)), "c2", other))
    assert found.severity is Severity.NOTE
    assert "GPUs 4 and 5 without an RDMA adapter" in found.what


def test_gpus_across_from_the_only_adapter_are_noted_for_all_nodes_at_once() -> None:
    (found,) = of_gpus(cluster(PCIE))
    assert (found.where, found.severity) == ("c1, c2, c3 and c4", Severity.NOTE)
    assert "GPUs 0, 1, 2 and 3 without an RDMA adapter" in found.what


def test_numa_nodes_tell_where_nvidia_smi_does_not() -> None:
    def amd(one: Inventory) -> Inventory:
        gpus = tuple(Gpu(n, "AMD 1002:740c", f"0000:{n:02x}:00.0", n // 2, ()) for n in range(4))
        return msgspec.structs.replace(one, gpus=gpus)

    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_inventory(preflight, name, amd)
    (found,) = of_gpus(preflight)
    assert "GPUs 2 and 3 without an RDMA adapter" in found.what
    assert "is mlx5_0 (SYS)" in found.evidence[0]


@pytest.mark.parametrize(
    ("driver", "kernel", "severity"),
    [
        ("535.129.03", "5.14.0-362.el9", Severity.WARN),
        ("550.54.15 open", "5.14.0-362.el9", None),
        ("550.54.15 open", "4.18.0-513.el8", Severity.NOTE),
        ("", "5.14.0-362.el9", Severity.NOTE),
    ],
)
def test_a_missing_peer_memory_module(driver: str, kernel: str, severity: Severity | None) -> None:
    preflight = cluster(A100)
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_fact(preflight, name, "nvidia driver", driver)
        preflight = with_inventory(
            preflight, name,
            lambda one: msgspec.structs.replace(one, modules=("ib_uverbs", "nvidia")),
        )  # fmt: skip
    fabric = preflight.fabric
    nodes = tuple(msgspec.structs.replace(one, kernel=kernel) for one in fabric.nodes)
    preflight = msgspec.structs.replace(
        preflight, fabric=msgspec.structs.replace(fabric, nodes=nodes)
    )
    found = of_gpus(preflight)
    assert [one.severity for one in found] == ([severity] if severity else [])
    for one in found:
        assert "no peer memory module" in one.what
        assert one.mends[0].argv == ("modprobe", "nvidia_peermem")


def test_efa_and_gpus_without_nvidias_driver_need_no_module() -> None:
    def change(one: Inventory) -> Inventory:
        efa = tuple(msgspec.structs.replace(a, driver="efa") for a in one.adapters)
        return msgspec.structs.replace(one, adapters=efa, modules=("ib_uverbs", "nvidia", "efa"))

    preflight = cluster(A100)
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_inventory(preflight, name, change)
    assert of_gpus(preflight) == []


def test_the_node_that_lacks_a_gpu_a_link_or_the_module_is_named() -> None:
    def lost(one: Inventory) -> Inventory:
        return msgspec.structs.replace(one, gpus=one.gpus[:-1])

    (found,) = of_gpus(with_inventory(cluster(A100), "c3", lost))
    assert (found.where, found.severity, found.what) == (
        "c3", Severity.WARN, "differs in number of GPUs: 7, like nodes have 8",
    )  # fmt: skip

    def linked(dead: int, lanes: int, one: Inventory) -> Inventory:
        gpus = tuple(
            msgspec.structs.replace(
                gpu, links_bit_s=(200e9,) * (12 - (dead if gpu.index == 5 else 0)),
                pcie_now=PcieLink(2.5, lanes if gpu.index == 5 else 16),
            )
            for gpu in one.gpus
        )  # fmt: skip
        return msgspec.structs.replace(one, gpus=gpus)

    preflight = cluster(A100)
    for name, dead, lanes in (("c1", 0, 16), ("c2", 2, 16), ("c3", 0, 8), ("c4", 0, 16)):
        preflight = with_inventory(preflight, name, partial(linked, dead, lanes))
    assert [(one.where, one.what) for one in of_gpus(preflight)] == [
        ("c2", "differs in NVLinks of the GPUs: 1 × 10 up, 7 × 12 up, like nodes have 8 × 12 up"),
        ("c3", "differs in PCIe lanes of the GPUs: 7 × x16, 1 × x8, like nodes have 8 × x16"),
    ]


def test_an_iommu_that_translates_for_a_gpu_is_told_by_the_iommus_check() -> None:
    def placed(one: Inventory) -> Inventory:
        gpus = tuple(
            msgspec.structs.replace(gpu, bus=f"0000:{gpu.index:02x}:00.0") for gpu in one.gpus
        )
        return msgspec.structs.replace(one, gpus=gpus)

    preflight = with_inventory(cluster(A100), "c2", placed)
    found = only(with_fact(preflight, "c2", "iommu type of 0000:03:00.0", "DMA-FQ"))
    assert (found.check, found.evidence) == ("iommu", ("c2: GPU 3: DMA-FQ, in lazy mode",))
