"""The table of the checks of a node: what each one compares, how severe it is, and its limits."""

from typing import Literal, get_args

import msgspec

#: ``fail`` drains a node, ``warn`` and ``note`` are reported, ``off`` is not.
Severity = Literal["fail", "warn", "note", "off"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class Check(msgspec.Struct, frozen=True):
    """A comparison with an expectation.

    ``fails`` is when the check has a finding; ``sources`` are what has to agree on it.
    """

    id: str
    severity: Severity
    fails: str
    sources: str


CHECKS = (
    Check("link", "fail", "an interface, port or device is down, switched off or gone",
          "`carrier` and `operstate`, or `state` and `phys_state`; the list of devices and "
          "`/proc/net/dev` or `infiniband_verbs`"),
    Check("rate", "fail", "a link is slower than expected, or `tc` limits it",
          "`speed`, `rate`; `tc` if it is installed"),
    Check("pcie", "fail", "fewer PCI Express lanes, or a lower generation",
          "both ends of the slot's link"),
    Check("gpus", "fail", "fewer GPUs than expected", "the PCI bus and the driver's list"),
    Check("subnet", "fail", "an InfiniBand port has no subnet manager or no LID",
          "`state` and `sm_lid`"),
    Check("mtu", "warn", "another MTU", "`mtu`"),
    Check("driver", "warn", "another driver", "`uevent`"),
    Check("firmware", "warn", "another firmware", "`fw_ver`; `ethtool -i` if it is installed"),
    Check("gid", "warn", "another kind or interface at a GID's index", "`gid_attrs`"),
    Check("memlock", "warn", "less memory may be locked", "`/proc/self/limits`"),
    Check("tcp", "warn", "TCP sends more than 1 % of its segments again",
          "`/proc/net/snmp`; at least 1,000 segments in an hour"),
)  # fmt: skip


class CountLimit(msgspec.Struct, frozen=True):
    """The limits of one kind of event, as numbers of events on one device within an hour.

    More than ``warn_over`` is a warning, more than ``fail_over`` a failure; None is never. A link
    of R Gb/s may have ``fail_per_gbit`` × R events before it fails, if that is more.
    """

    kind: str
    counters: str
    warn_over: int | None
    fail_over: int | None
    origin: str
    fail_per_gbit: float = 0.0


_BIT_ERRORS = (
    "warn: the usual threshold of ibqueryerrors, 10; fail: more than one error in 10^12 bits, which"
    " the InfiniBand specification allows, for an hour at the link's rate; at least 100"
)
_QUIET = "what a quiet port counts in an hour (`fabricgauge doctor` uses the same rates)"

#: Window of the counts in seconds.
WINDOW_S = 3600

#: 10^9 bit/s for an hour, with one error in 10^12 bits.
_ERRORS_PER_GBIT = 1e9 * WINDOW_S / 1e12

LIMITS = (
    CountLimit("flaps", "`carrier_down_count`, `link_downed`", 0, None,
               "a sound link never goes down; who took it down, no counter says: an administrator "
               "and a switch that restarts count as well"),
    CountLimit("errors", "`rx_errors`, `tx_errors`; `symbol_error`, `link_error_recovery`, "
               "`local_link_integrity_errors`, `port_rcv_errors`, "
               "`port_rcv_remote_physical_errors`, `excessive_buffer_overrun_errors`",
               10, 100, _BIT_ERRORS, _ERRORS_PER_GBIT),
    CountLimit("uncorrectable", "`ethtool -S`: names with `uncorrect`; if a driver has none, "
               "`uncorrectable_blocks` of `ethtool -I --show-fec`", 0, 100,
               "warn: each loses a frame; fail: as errors, but never if the link went down, since "
               "a link counts them while it trains", _ERRORS_PER_GBIT),
    CountLimit("drops", "`rx_dropped`, `tx_dropped`, `rx_missed_errors`; `port_xmit_discards`, "
               "`VL15_dropped`", 3_600, None, _QUIET),
    CountLimit("pauses", "`ethtool -S`, `hw_counters`: pause frames, PFC", 36_000, None, _QUIET),
    CountLimit("storms", "`ethtool -S`: names with `storm_error`", 0, None,
               "the adapter paused its peers for so long that it gave up, and then may drop frames "
               "(Linux, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/"
               "counters.rst)"),
    CountLimit("retries", "`hw_counters`: packets sent again, out of order, without a buffer",
               3_600, None, _QUIET),
)  # fmt: skip
