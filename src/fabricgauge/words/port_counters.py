"""Counters of adapters' ports under each driver's names: who counts octets, and what a rise means.

The standard's counters are in ``counters`` of a port in /sys/class/infiniband, the driver's own in
``hw_counters``; those of its interface are in ``/sys/class/net`` and ``ethtool -S``.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

#: What rises: bad frames or links; frames thrown away; pause frames; marks and notices of
#: congestion; packets that were sent again, came out of order or found no buffer.
CounterKind = Literal["errors", "drops", "pauses", "congestion", "retries", ""]


class DriverCounters(msgspec.Struct, frozen=True):
    """What a driver's own counters are called, and the source of that.

    ``octets`` and ``packets`` are the names of what was received and sent, in bytes and packets;
    several are summed. ``kinds`` are names that do not say by themselves what they count.
    """

    driver: str
    source: str
    octets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    packets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    kinds: Mapping[str, CounterKind] = {}


#: ``counters`` has the octets of mlx5, mlx4 and hfi1, in words of 4 octets (InfiniBand
#: Architecture Specification Volume 1, 16.1.3.5, PortCounters). Others count octets by names of
#: their own, or packets alone. siw counts nothing.
DRIVERS = (
    DriverCounters(
        "mlx5", "Linux 6.16, drivers/infiniband/hw/mlx5/counters.c",
        (("rdma_rx_bytes",), ("rdma_tx_bytes",)), (("rdma_rx_packets",), ("rdma_tx_packets",)),
        # Queue pairs that end flush what is left in them.
        {"out_of_buffer": "drops", "resp_cqe_flush_error": "", "req_cqe_flush_error": "",
         "rx_icrc_encapsulated": "errors"},
    ),
    DriverCounters(
        "mlx4", "Linux 6.12, drivers/infiniband/hw/mlx4/main.c, diag_device_only",
        kinds={
            "sq_num_to": "retries", "rq_num_dup": "retries",
            "sq_num_tree": "errors", "sq_num_rree": "errors", "rq_num_udsdprd": "drops",
            "num_cqovf": "errors", "sq_num_rae": "errors", "rq_num_rae": "errors",
        },
    ),
    DriverCounters(
        # The driver fills recoverable_errors with the broadcast packets that it sent.
        "bnxt_re", "Linux 6.12, drivers/infiniband/hw/bnxt_re/hw_counters.c",
        (("rx_bytes",), ("tx_bytes",)), (("rx_pkts",), ("tx_pkts",)),
        {"recoverable_errors": "", "oos_drop_count": "retries", "rx_out_of_buffer": "drops"},
    ),
    DriverCounters(
        "efa", "Linux 6.12, drivers/infiniband/hw/efa/efa_verbs.c, EFA_DEFINE_STATS",
        (("rx_bytes",), ("tx_bytes",)), (("rx_pkts",), ("tx_pkts",)),
    ),
    DriverCounters(
        # The adapter itself names them; these are those of its firmware's RoCE.
        "ionic", "Linux 6.18, drivers/infiniband/hw/ionic/ionic_hw_stats.c; AMD, Pollara counters",
        (("rx_rdma_ucast_bytes",), ("tx_rdma_ucast_bytes",)),
        (("rx_rdma_ucast_pkts",), ("tx_rdma_ucast_pkts",)),
        {"tx_rdma_retx_bytes": "retries", "tx_rdma_retx_pkts": "retries"},
    ),
    DriverCounters(
        "irdma", "Linux 6.12, drivers/infiniband/hw/irdma/verbs.c, irdma_hw_stat_descs",
        (("ip4InOctets", "ip6InOctets"), ("ip4OutOctets", "ip6OutOctets")),
        (("ip4InPkts", "ip6InPkts"), ("ip4OutPkts", "ip6OutPkts")),
    ),
    DriverCounters(
        "hns", "Linux 6.12, drivers/infiniband/hw/hns/hns_roce_main.c, hns_roce_port_stats_descs",
        packets=(("rx_pkt",), ("tx_pkt",)),
    ),
    DriverCounters(
        # Frames of software RDMA count on its interface as well.
        "rxe", "Linux 6.12, drivers/infiniband/sw/rxe/rxe_hw_counters.c",
        packets=(("rcvd_pkts",), ("sent_pkts",)),
        kinds={"send_err": "errors", "ack_deferred": ""},
    ),
)  # fmt: skip

_KINDS: dict[str, CounterKind] = {
    name: kind for driver in DRIVERS for name, kind in driver.kinds.items()
}

#: Words that say what is counted, in small letters; the first list with one of them decides. What
#: forward error correction mended is sound at 25 Gb/s a lane and more (IEEE 802.3, clauses 91 and
#: 119), and a duration is no count.
_WORDS: tuple[tuple[CounterKind, tuple[str, ...]], ...] = (
    ("errors", ("uncorrect", "exceed", "excd")),
    ("", ("corrected", "duration")),
    ("congestion", ("cnp", "ecn")),
    ("retries", (
        "retrans", "retry", "rnr", "seq_err", "out_of_seq", "_oos", "dup_req", "duplicate_request",
        "timeout_err", "missing_resp", "slow_restart",
    )),
    ("drops", ("drop", "discard", "miss", "no_buffer")),
    ("pauses", ("pause", "xoff", "xon", "pfc")),
    ("errors", (
        "error", "errs", "crc", "symbol", "fcs", "fifo", "downed", "recovery", "integrity",
        "overrun", "bad_", "_err",
    )),
)  # fmt: skip


def kind_of(counter: str) -> CounterKind:
    """What a rise of a counter means; empty for a counter of something else."""
    if counter in _KINDS:
        return _KINDS[counter]
    name = counter.lower()
    found = (kind for kind, words in _WORDS if any(word in name for word in words))
    return next(found, "")


def own_octets(counters: Mapping[str, int]) -> tuple[int, int] | None:
    """Bytes received and sent by a driver's own counters; None where it counts none."""
    return _of_driver(counters, (one.octets for one in DRIVERS))


def own_packets(counters: Mapping[str, int]) -> tuple[int, int] | None:
    return _of_driver(counters, (one.packets for one in DRIVERS))


def _of_driver(
    counters: Mapping[str, int], pairs: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]
) -> tuple[int, int] | None:
    for received, sent in pairs:
        if received and all(name in counters for name in (*received, *sent)):
            return sum(map(counters.__getitem__, received)), sum(map(counters.__getitem__, sent))
    return None
