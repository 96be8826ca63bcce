"""What the kernel says of an adapter's IOMMU group comes before its command line."""

import pytest
from tests.doctor.clusters import clean, findings, only, with_fact, with_interface

from fabricgauge.model.preflight import Preflight


def told(command_line: str, **types: str) -> Preflight:
    preflight = with_fact(clean(), "c2", "kernel command line", command_line)
    for name, value in types.items():
        preflight = with_fact(preflight, "c2", f"iommu type of {name}", value)
    return preflight


@pytest.mark.parametrize(
    ("kind", "mode"), [("DMA", "each packet in strict mode"), ("DMA-FQ", "in lazy mode")]
)
def test_a_kernel_that_translates_by_default_is_named(kind: str, mode: str) -> None:
    found = only(told("BOOT_IMAGE=/vmlinuz ro", eth0=kind, mlx5_0=kind))
    assert (found.check, found.where) == ("iommu", "c2")
    assert found.evidence == (f"c2: eth0 and mlx5_0: {kind}, {mode}",)


def test_a_kernel_that_lets_pass_is_sound_whatever_its_command_line() -> None:
    assert findings(told("ro intel_iommu=on", eth0="identity", mlx5_0="identity")) == []


def test_the_command_line_counts_where_the_kernel_does_not_say_it() -> None:
    assert only(told("ro intel_iommu=on")).check == "iommu"
    assert only(told("ro intel_iommu=on", eno1="identity")).check == "iommu"
    assert findings(told("ro")) == []


def test_slow_ports_and_guests_do_not_count() -> None:
    slow = with_interface(told("ro", eth0="DMA"), "c2:eth0", speed_bit_s=1e9)
    assert not [one for one in findings(slow) if one.check == "iommu"]
    assert findings(with_fact(told("ro", eth0="DMA"), "c2", "virtual machine", "kvm")) == []
