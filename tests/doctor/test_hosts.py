"""Planted faults of limits, clocks, kernels and versions; each is named, and nothing else."""

import msgspec
import pytest
from tests.doctor import clusters
from tests.doctor.clusters import (
    NO,
    clean,
    findings,
    only,
    with_fact,
    with_interface,
    with_inventory,
)

from fabricgauge.model.finding import Severity
from fabricgauge.model.inventory import Gpu, Inventory, Nearness, Stack
from fabricgauge.model.preflight import Clock, Preflight

MEMLOCK = "max locked memory bytes"


def plain(preflight: Preflight) -> Preflight:
    """The same cluster without InfiniBand."""
    bare = tuple(
        msgspec.structs.replace(
            one, adapters=one.adapters[:1], rdma_ports=(), facts={**one.facts, MEMLOCK: "8388608"}
        )
        for one in preflight.inventories
    )
    return msgspec.structs.replace(preflight, inventories=bare)


def test_with_rdma_memory_must_be_lockable_and_without_only_some() -> None:
    found = only(with_fact(clean(), "c2", MEMLOCK, "8388608"))
    assert (found.check, found.where, found.severity) == ("limits", "c2", Severity.FAIL)
    assert findings(plain(clean())) == []
    found = only(with_fact(plain(clean()), "c2", MEMLOCK, "65536"))
    assert (found.where, found.severity) == ("c2", Severity.WARN)
    assert found.what == "may lock only 64 KiB of memory, like nodes 8 MiB"


def test_a_lab_has_the_limits_of_whoever_made_it() -> None:
    preflight = plain(clean())
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_fact(preflight, name, MEMLOCK, "65536")
    assert only(preflight).nodes == ("c1", "c2", "c3", "c4")
    virtual = msgspec.structs.replace(preflight.fabric, virtual=True)
    preflight = msgspec.structs.replace(preflight, fabric=virtual)
    assert findings(preflight) == []
    assert only(with_fact(preflight, "c2", MEMLOCK, "32768")).where == "c2"


@pytest.mark.parametrize(
    ("fact", "value", "what"),
    [
        ("max open files", "1024", "may open only 1,024 files"),
        ("/dev/shm bytes", str(32 << 20), "has only 32 MiB in /dev/shm"),
        ("/dev/shm bytes", str(1 << 30), "has only 1 GiB in /dev/shm"),
    ],
)
def test_few_files_and_little_shared_memory_are_named(fact: str, value: str, what: str) -> None:
    found = only(with_fact(clean(), "c2", fact, value))
    assert (found.check, found.where, found.what) == ("limits", "c2", what)


@pytest.mark.parametrize(
    ("low_s", "high_s", "severity"),
    [(1.5, 1.7, Severity.WARN), (-400.0, -399.0, Severity.FAIL), (-0.5, 8.0, None)],
)
def test_a_clock_that_is_surely_off_is_named(
    low_s: float, high_s: float, severity: Severity | None
) -> None:
    clocks = clusters.first(clean().clocks, Clock("c1", low_s, high_s))
    preflight = msgspec.structs.replace(clean(), clocks=clocks)
    if severity is None:
        assert findings(preflight) == []
    else:
        assert (only(preflight).where, only(preflight).severity) == ("c1", severity)


@pytest.mark.parametrize(
    ("fact", "value", "check", "severity"),
    [
        ("cpu governor", "powersave", "governor", Severity.WARN),
        ("transparent hugepages", "always madvise [never]", "thp", Severity.WARN),
        ("kernel command line", "ro intel_iommu=on", "iommu", Severity.WARN),
        ("irqs of eth0", "16 on 1 processors", "irqs", Severity.WARN),
        ("firewall", "nft: input policy drop", "firewall", Severity.WARN),
    ],
)
def test_a_kernels_setting_is_named_with_the_node(
    fact: str, value: str, check: str, severity: Severity
) -> None:
    found = only(with_fact(clean(), "c3", fact, value))
    assert (found.check, found.severity) == (check, severity)
    assert found.nodes == ("c3",)


def test_the_same_setting_everywhere_is_one_finding() -> None:
    preflight = clean(40)
    for node in preflight.fabric.nodes:
        preflight = with_fact(preflight, node.name, "cpu governor", "powersave")
    found = only(preflight)
    assert len(found.nodes) == len(found.mends) == 40
    assert found.where == "c1, c2, c3, c4, c5, c6 and 34 more"
    assert len(found.evidence) == 12


def test_hugepages_that_are_off_everywhere_are_a_note() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_fact(preflight, name, "transparent hugepages", "always madvise [never]")
    assert only(preflight).severity is Severity.NOTE


def test_kernel_settings_of_a_lab_say_nothing_of_a_node() -> None:
    preflight = clean()
    for name, value in (("cpu governor", "powersave"), ("kernel command line", "intel_iommu=on")):
        preflight = with_fact(preflight, "c2", name, value)
    virtual = msgspec.structs.replace(preflight.fabric, virtual=True)
    assert findings(msgspec.structs.replace(preflight, fabric=virtual)) == []


def test_firewalld_comes_with_the_commands_that_trust_the_networks() -> None:
    preflight = with_fact(clean(), "c3", "firewall", "nft: input policy drop")
    found = only(with_fact(preflight, "c3", "service firewalld", "enabled active"))
    assert [one.argv[-1] for one in found.mends] == [
        "--change-interface=eth0", "--change-interface=ib0", "--reload",
    ]  # fmt: skip


def with_gpus(preflight: Preflight, distance: str, acs: str) -> Preflight:
    def change(one: Inventory) -> Inventory:
        gpus = (Gpu(0, "H100", "0000:01:00.0", 0, ()),)
        near = (Nearness(0, "mlx5_0", distance),)
        facts = {**one.facts, "acs redirect": acs}
        return msgspec.structs.replace(one, gpus=gpus, nearness=near, facts=facts)

    return with_inventory(preflight, "c2", change)


def test_redirecting_bridges_count_where_gpus_and_adapters_are() -> None:
    assert findings(with_gpus(clean(), "PIX", "")) == []
    found = only(with_gpus(clean(), "PIX", "0000:00:01.0 0000:80:01.0"))
    assert (found.check, found.where) == ("acs", "c2")
    assert findings(with_fact(clean(), "c2", "acs redirect", "0000:00:01.0")) == []


def test_far_adapters_are_a_note() -> None:
    far = only(with_gpus(clean(), "SYS", ""))
    assert (far.check, far.where, far.severity) == ("gpu", "c2", Severity.NOTE)
    assert any("numa: c2:mlx5_0: has no GPU on its socket" in line for line in far.evidence)

    def moved(one: Inventory) -> Inventory:
        adapters = (one.adapters[0], msgspec.structs.replace(one.adapters[1], numa_node=1))
        return msgspec.structs.replace(one, adapters=adapters)

    socket = only(with_inventory(clean(), "c2", moved))
    assert (socket.where, socket.what) == (
        "c2:mlx5_0", "is on NUMA node 1; ranks start on node 0",
    )  # fmt: skip


def with_mpi(preflight: Preflight, name: str, version: str) -> Preflight:
    stacks = (Stack("openmpi", version, "/opt"),)
    return with_inventory(preflight, name, lambda one: msgspec.structs.replace(one, stacks=stacks))


def test_other_firmware_kernel_or_mpi_is_that_of_the_odd_node() -> None:
    def older(one: Inventory) -> Inventory:
        adapters = tuple(msgspec.structs.replace(a, firmware="16.35") for a in one.adapters)
        return msgspec.structs.replace(one, adapters=adapters)

    found = only(with_inventory(clean(), "c2", older))
    assert (found.check, found.where) == ("likeness", "c2")
    assert "firmware of MT28908: 16.35" in found.what

    preflight = clean()
    for name, version in (("c1", "4.1.6"), ("c2", "4.1.6"), ("c3", "5.0.3"), ("c4", "4.1.6")):
        preflight = with_mpi(preflight, name, version)
    found = only(preflight)
    assert (found.where, found.what) == (
        "c3", "differs in MPI: openmpi 5.0.3, like nodes have openmpi 4.1.6",
    )  # fmt: skip


def test_two_nodes_that_differ_are_one_finding_about_both() -> None:
    preflight = clean(2)
    odd = msgspec.structs.replace(preflight.fabric.nodes[0], kernel="5.14.0")
    fabric = msgspec.structs.replace(preflight.fabric, nodes=(odd, preflight.fabric.nodes[1]))
    found = only(msgspec.structs.replace(preflight, fabric=fabric))
    assert found.nodes == ("c1", "c2")
    assert found.what.endswith("kernel: 4.18.0 and 5.14.0")


def test_nodes_that_are_meant_to_differ_are_not_compared() -> None:
    preflight = with_fact(clean(), "c4", "cpu model", "Xeon 8480")
    assert findings(with_fact(preflight, "c4", "os release", "Rocky Linux 9.4")) == []


def test_classes_that_somebody_sorted_are_taken_as_they_are() -> None:
    preflight = with_fact(clean(), "c4", "os release", "Rocky Linux 9.4")
    preflight = msgspec.structs.replace(preflight, alike=(("c1", "c2", "c3"), ("c4",)))
    assert findings(preflight) == []


def test_facts_that_are_absent_are_no_findings() -> None:
    bare = tuple(
        msgspec.structs.replace(
            one, facts={}, adapters=(), rdma_ports=(), modules=(), stacks=(), routes=()
        )
        for one in clean().inventories
    )
    assert findings(msgspec.structs.replace(clean(), inventories=bare)) == []
    assert findings(msgspec.structs.replace(clean(), inventories=())) == []
    unknown = with_interface(clean(), "c2:eth0", speed_bit_s=NO, driver=NO, numa_node=NO)
    assert findings(unknown) == []
