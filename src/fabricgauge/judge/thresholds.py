"""Define the thresholds of the rules: built-in values with their origin, and a site's values."""

import math
from collections.abc import Mapping

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import SUSTAINED_BYTES


class Limit(msgspec.Struct, frozen=True):
    """One threshold; ``unit`` is "share" (0 to 1), "s", "bytes", "segments" or "times"."""

    value: float
    unit: str
    origin: str


#: Below this share of the payload, counters "did not move": the bytes took another path.
MOVED_AT_ALL = 0.5

#: So many tables of a log with one heading are judged one by one; with more of them, the log is a
#: campaign: it is judged as a family. An archive of single runs has fewer.
FOLD_FROM = 500

#: Name, value, unit, and why that value.
_ROWS: tuple[tuple[str, float, str, str], ...] = (
    ("path.share", 0.99, "share",
     "launchers, name lookups and keep-alives send far less than 1 %"),
    ("path.least_payload", 1e6, "bytes", "below that, other traffic on a node weighs too much"),
    ("floor.tcp", 2e-6, "s", "kernel TCP through a network interface takes 5-50 µs, never below 2"),
    ("floor.rdma", 0.5e-6, "s", "the best published single-switch RDMA latency is above 0.9 µs"),
    ("floor.iwarp", 1.5e-6, "s", "RDMA over TCP; published for 10 Gb/s: 4.6 µs"),
    ("floor.slingshot", 1e-6, "s", "Slingshot-11 between neighbours is published with about 2 µs"),
    ("floor.efa", 3e-6, "s", "EFA is published with 14, 9.5 and 6.5 µs by generation"),
    ("latency.tcp", 100e-6, "s",
     "kernel TCP usually takes 5-50 µs; adapters that delay interrupts may double it"),
    ("latency.rdma", 10e-6, "s",
     "RDMA takes 1-5 µs through several switches; kernel TCP begins above that"),
    ("latency.iwarp", 20e-6, "s", "RDMA over TCP; published for 10 Gb/s: 4.6-8 µs"),
    ("latency.slingshot", 10e-6, "s", "Slingshot-11 is published with 2 µs, in a group 3-4"),
    ("latency.efa", 50e-6, "s", "EFA is published with 6.5-14 µs, by generation and size"),
    ("latency.up_to", 1024, "bytes", "larger messages take the time that their bytes need"),
    ("latency.fail", 1e-3, "s",
     "no network of one machine room takes a millisecond: 200 km of fibre do"),
    ("above-ceiling.tolerance", 0.01, "share",
     "clock rates of links and hosts differ by far less (100 ppm)"),
    ("above-ceiling.clock", 1e-6, "s",
     "one clock times both ends of a sample; this is its reading"),
    ("cache-shape.loss", 0.2, "share",
     "no medium loses a fifth of its bandwidth to larger messages"),
    ("fraction.pass", 0.95, "share",
     "sound TCP streams reach 97-99.8 % of a ceiling net of headers"),
    ("fraction.warn", 0.90, "share", "a soft band below fraction.pass, as wide as its margin"),
    ("fraction.both_pass", 0.85, "share",
     "on a sound 1 Gb/s link iperf3 --bidir fills 90 %, osu_bibw 90-96 %, fabricgauge 88-98 %;"
     " both directions wait for each other's acknowledgements"),
    ("fraction.both_warn", 0.75, "share",
     "a soft band below fraction.both_pass; half duplex gives 50 %"),
    ("fraction.slingshot_both_pass", 0.80, "share",
     "a sound Slingshot-11 is published with 84 % (42,034 MB/s both ways) of a ceiling from which"
     " no headers are taken off; cxi_write_bw(1) shows 81-83 % (40,551 and 41,335 MB/s)"),
    ("fraction.bus_pass", 0.85, "share",
     "sound clusters reach 88-96 % of nominal adapters in an all-reduce: 46-48 GB/s of 50 by one"
     " adapter (nccl-tests#290), 357 of 400 by eight (RCCL 2.22)"),
    ("fraction.bus_warn", 0.70, "share",
     "a soft band below fraction.bus_pass, as wide as its margin"),
    ("fraction.gpu_pass", 0.70, "share",
     "sound NVLinks reach 77-94 % of their rate (H100 370 of 478 GB/s, A100 276 of 300), PCIe below"
     " a switch 84 % (26.3 of 31.5 GB/s, nvbandwidth#50), an H200's slot 88 % (55.4 of 63.0 GB/s)"),
    ("fraction.gpu_warn", 0.60, "share", "a soft band below fraction.gpu_pass"),
    ("fraction.gpu_like", 0.90, "share",
     "sound paths of the same kind differ by 1 % over NVLink, by 4 % between sockets"),
    ("fraction.gpu_like_fail", 0.75, "share", "one of four links is gone"),
    ("fraction.tcp_held", 0.3, "share",
     "a buffer or window that stops a stream for less is not its main limit"),
    ("fraction.tcp_always", 0.8, "share",
     "from here on a buffer or window is the only limit, at any setting"),
    ("fraction.from", SUSTAINED_BYTES, "bytes",
     "from 64 KiB on, the wire and not the software sets the pace"),
    ("pairs.once", 0.75, "share", "a single pass shows no fault that takes less than a quarter"),
    ("asymmetry.warn", 0.05, "share", "as wide as the margin of fraction.pass"),
    ("asymmetry.fail", 0.25, "share",
     "a step between link rates (40 to 25 Gb/s); tuning does not cause it"),
    ("stability.interval", 0.10, "share",
     "a wider interval spans pass, soft band and fail at once"),
    ("stability.launches", 0.05, "share", "as wide as the margin of fraction.pass"),
    ("stability.latency_launches", 1.0, "share",
     "small messages vary by 5-18 % between launches on busy hosts"),
    ("stability.level", 0.75, "share",
     "a step between link rates (40 to 25 Gb/s); tuning does not cause it"),
    ("stability.fall", 0.25, "share",
     "a single pass shows no fault that takes less than a quarter"),
    ("stability.stall", 0.1, "s",
     "TCP waits 0.2 s and more before it sends a segment again (RFC 6298: 1 s, Linux: 0.2)"),
    ("stability.stalls", 0.01, "share",
     "sound runs have no sample that is 0.1 s longer than usual"),
    ("stability.stalls_fail", 0.05, "share",
     "an application that waits for all its ranks loses more with each node"),
    ("stability.slow_time", 0.5, "s",
     "a virtual machine that pauses takes less; 1.5 s of large messages are measured each way"),
    ("stability.tail", 20.0, "times",
     "one in a hundred samples above that shows a stalled host or link"),
    ("dips.bandwidth", 0.05, "share", "as wide as the margin of fraction.pass"),
    ("dips.small_bandwidth", 0.15, "share",
     "below fraction.from the hosts' software sets the pace"),
    ("dips.time", 0.25, "share", "small messages vary by 5-18 % from case to case on busy hosts"),
    ("dips.cliff", 0.35, "share",
     "another protocol costs a ping-pong up to a third of its bandwidth"),
    ("dips.low", 0.40, "share",
     "from 256 KiB on, a sound stream of any suite reaches 90 % of its best and more"),
    ("concurrent.bisection", 0.4, "share",
     "both directions at once reach 85 % of one on sound links, and half if one thread of the"
     " host serves both"),
    ("concurrent.collective", 0.25, "share",
     "MPIs took 60 to 250 % of a plain algorithm's time on virtual clusters of four and eight"),
    ("errors.share", 0.001, "share",
     "with 0.1 % lost TCP keeps about 40 segments under way (Mathis et al. 1997)"),
    ("errors.fail", 0.05, "share",
     "with 5 % lost TCP keeps about 5 segments under way (Mathis et al. 1997)"),
    ("errors.least", 50, "segments", "queues that fill when a stream begins lose a handful"),
    ("lossy.share", 0.005, "share",
     "with 0.5 % lost TCP keeps about 17 segments under way (Mathis et al. 1997)"),
    ("lossy.small_part", 0.1, "share",
     "a bad cable loses frames of all sizes; a queue that fills loses none of small messages"),
    ("lossy.kept_rate", 0.06, "share",
     "shaped links of virtual clusters kept within 1.5 to 4.5 % between quartiles, one with 2 %"
     " loss within 130 %"),
    ("foreign-traffic.share", 0.05, "share", "as wide as the margin of fraction.pass"),
    ("host-limited.lost_segments", 0.01, "share",
     "hosts slower than the ceiling lost 0.2 % on a virtual network without losses"),
    ("host-limited.softirq_cpu", 0.90, "share",
     "a processor that does nothing but interrupts' bottom halves"),
    ("host-limited.idle", 0.05, "share", "no processor has time left"),
    ("host-limited.softirq", 0.20, "share",
     "polling ranks spend none; it is work that packets caused"),
    ("host-limited.busy", 0.70, "share", "a link that limits has data waiting all the time"),
    ("host-limited.delay", 0.25, "share",
     "a rank that waits for a processor cannot serve its connection"),
    ("host-limited.delay_unsteady", 0.15, "share",
     "where pairs' rates scatter; ranks of quiet virtual clusters waited 3-5 %, of overloaded ones"
     " 19-29 %"),
    ("host-limited.headroom", 2.0, "times",
     "loopback has 64 KiB packets, no driver and no interrupts"),
    ("host-limited.steady", 0.02, "share",
     "a wire keeps its pace; ranks that wait for processors do not"),
    ("host-limited.loopback", 0.45, "share",
     "host-limited.headroom allows a network twice the cost of loopback, which gives half of its"
     " rate, less a tenth"),
    ("host-limited.loopback_unsteady", 0.2, "share",
     "if other work takes turns with the ranks, half as much as for a steady figure"),
)  # fmt: skip

BUILT_IN = {name: Limit(value, unit, f"built-in: {why}") for name, value, unit, why in _ROWS}


class Thresholds(msgspec.Struct, frozen=True):
    """All limits by name, e.g. ``fraction.pass``."""

    limits: dict[str, Limit]

    def value(self, name: str) -> float:
        return self.limits[name].value


DEFAULTS = Thresholds(BUILT_IN)


def thresholds_from(mapping: Mapping[str, object], origin: str) -> Thresholds:
    """Return the built-in thresholds, replaced by those of ``mapping``.

    Verdicts quote ``origin``, the file or option that set them.

    Raises:
        UsageError: an unknown name, or a value that is not a number of 0 or more.
    """
    limits = dict(BUILT_IN)
    for name, value in mapping.items():
        if name not in limits:
            known = ", ".join(sorted(limits))
            raise UsageError(f"{origin}: unknown threshold {name!r}; known thresholds: {known}")
        limits[name] = Limit(_number(name, value, origin), limits[name].unit, f"set by {origin}")
    for lower, upper in (
        ("fraction.warn", "fraction.pass"),
        ("fraction.both_warn", "fraction.both_pass"),
        ("fraction.both_warn", "fraction.slingshot_both_pass"),
        ("fraction.bus_warn", "fraction.bus_pass"),
        ("fraction.gpu_warn", "fraction.gpu_pass"),
        ("fraction.gpu_like_fail", "fraction.gpu_like"),
        ("asymmetry.warn", "asymmetry.fail"),
        ("errors.share", "errors.fail"),
        ("stability.stalls", "stability.stalls_fail"),
    ):
        if limits[lower].value > limits[upper].value:
            raise UsageError(
                f"{origin}: {lower} ({limits[lower].value:g}) must not be above"
                f" {upper} ({limits[upper].value:g})"
            )
    return Thresholds(limits)


def _number(name: str, value: object, origin: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    raise UsageError(f"{origin}: {name} must be a number of 0 or more, not {value!r}")
