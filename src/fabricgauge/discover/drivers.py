"""Which drivers' reported rate is that of a wire; pure."""

from fabricgauge.model.absence import Skipped

#: Drivers that report a fixed or inherited figure, or none, for want of a wire. Linux 6.12:
#: drivers/net/veth.c, tun.c, dummy.c, ifb.c, vmxnet3/vmxnet3_ethtool.c (always 10 Gb/s),
#: net/bridge/br_device.c, drivers/net/vxlan, macvlan.c (its parent's).
WITHOUT_A_WIRE = frozenset(
    {"veth", "tun", "tap", "bridge", "dummy", "ifb", "vmxnet3", "vxlan", "geneve", "macvlan",
     "ipvlan", "wireguard", "loopback"}
)  # fmt: skip


def rate_of(
    node: str, interface: str, driver: str | Skipped, speed_mbit_s: int | Skipped
) -> float | Skipped:
    """The line rate in bit/s from the kernel's ``speed`` (10^6 bit/s; -1: not known)."""
    if isinstance(driver, str) and driver in WITHOUT_A_WIRE:
        return Skipped(f"{driver} reports no physical rate ({node}:{interface})")
    if isinstance(speed_mbit_s, Skipped):
        return speed_mbit_s
    # ethtool.h: SPEED_UNKNOWN is -1, which some drivers pass on as 65535 or 2^32 - 1.
    if speed_mbit_s <= 0 or speed_mbit_s in (65535, 4294967295):
        return Skipped(f"{driver_name(driver)} does not know the rate of {node}:{interface}")
    return speed_mbit_s * 1e6


def driver_name(driver: str | Skipped) -> str:
    return driver if isinstance(driver, str) else "the driver"
