"""Name the counters of adapters' ports by driver: octets, packets, and what a rise means.

The standard's counters are in ``counters`` of a port in /sys/class/infiniband, the driver's own in
``hw_counters``; those of its interface are in ``/sys/class/net`` and ``ethtool -S``.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

#: Meaning of a rise: bad frames or links; dropped frames; pause frames; marks and notices of
#: congestion; packets that were sent again, came out of order or found no buffer.
CounterKind = Literal["errors", "drops", "pauses", "congestion", "retries", ""]

#: Events that a quiet port counts per second, by kind. A node drops frames of protocols that it
#: does not know: LLDP every 30 s (IEEE 802.1AB), spanning tree every 2 s (IEEE 802.1D), some of
#: each on every port. A few pauses and retries occur when programs start.
QUIET_PER_S = {"errors": 0.0, "drops": 1.0, "pauses": 10.0, "congestion": 10.0, "retries": 1.0}


class DriverCounters(msgspec.Struct, frozen=True):
    """Name one driver's own counters, and the source of the names.

    ``octets`` and ``packets`` name the counters of received and sent bytes and packets; several are
    summed. ``kinds`` has names that do not show what they count.
    """

    driver: str
    source: str
    octets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    packets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    kinds: Mapping[CounterKind, str] = {}


#: ``counters`` has the octets of mlx5, mlx4 and hfi1, in units of ``octets_per_unit``. The others
#: count octets under their own names, or packets only. siw counts nothing. Linux 6.12 is 6.12.117.
DRIVERS = (
    DriverCounters("mlx5", "Linux 6.12, drivers/infiniband/hw/mlx5/counters.c"),
    DriverCounters(
        "mlx4", "Linux 6.12, drivers/infiniband/hw/mlx4/main.c, diag_basic and diag_ext",
        kinds={
            "retries": "sq_num_to rq_num_dup",
            "errors": "rq_num_lle sq_num_lle rq_num_lqpoe sq_num_lqpoe rq_num_lpe sq_num_lpe"
            " sq_num_mwbe sq_num_bre sq_num_rire rq_num_rire sq_num_rae rq_num_rae sq_num_roe"
            " sq_num_tree sq_num_rree",
        },
    ),
    DriverCounters(
        "hfi1", "Linux 6.12, drivers/infiniband/hw/hfi1/chip.c, port_cntrs",
        kinds={
            "retries": "RcResend RcSeqNak RcDupRew RdmaSeq SeqNak",
            "errors": "TxUnVLErr TxMMLenErr TxUnderrun TxHdrErr XmitCstrErr RcvCstrErr OtherNak",
        },
    ),
    DriverCounters(
        # It fills recoverable_errors with the broadcast packets that it sent; db_fifo_register is
        # how full a queue of doorbells is.
        "bnxt_re", "Linux 6.12, drivers/infiniband/hw/bnxt_re/hw_counters.c",
        (("rx_bytes",), ("tx_bytes",)), (("rx_pkts",), ("tx_pkts",)),
        {
            "": "recoverable_errors db_fifo_register",
            "retries": "oos_drop_count",
            "errors": "res_length_mismatch res_rx_no_perm res_tx_no_perm res_irrq_oflow"
            " res_unsup_opcode res_unaligned_atomic",
        },
    ),
    DriverCounters(
        "efa", "Linux 6.12, drivers/infiniband/hw/efa/efa_verbs.c, EFA_DEFINE_PORT_STATS",
        (("rx_bytes",), ("tx_bytes",)), (("rx_pkts",), ("tx_pkts",)),
        {"errors": "unresponsive_remote_events impaired_remote_conn_events"},
    ),
    DriverCounters(
        # The adapter itself names them; these are those of its firmware's RoCE.
        "ionic", "AMD, the telemetry of RCCL and node-scraper; Linux 6.18 asks for the names",
        (("rx_rdma_ucast_bytes",), ("tx_rdma_ucast_bytes",)),
        (("rx_rdma_ucast_pkts",), ("tx_rdma_ucast_pkts",)),
        {"errors": "resp_rx_outof_atomic"},
    ),
    DriverCounters(
        "irdma", "Linux 6.12, drivers/infiniband/hw/irdma/verbs.c, irdma_hw_stat_names",
        (("ip4InOctets", "ip6InOctets"), ("ip4OutOctets", "ip6OutOctets")),
        (("ip4InPkts", "ip6InPkts"), ("ip4OutPkts", "ip6OutPkts")),
    ),
    DriverCounters(
        "hns", "Linux 6.12, drivers/infiniband/hw/hns/hns_roce_main.c, hns_roce_port_stats_descs",
        packets=(("rx_pkt",), ("tx_pkt",)), kinds={"": "ecn_doorbell"},
    ),
    DriverCounters(
        # Frames of software RDMA count on its interface as well.
        "rxe", "Linux 6.12, drivers/infiniband/sw/rxe/rxe_hw_counters.c",
        packets=(("rcvd_pkts",), ("sent_pkts",)),
    ),
)  # fmt: skip

_KINDS: dict[str, CounterKind] = {
    name: kind
    for driver in DRIVERS
    for kind, names in driver.kinds.items()
    for name in names.split()
}

#: Parts of counter names in small letters; the first list that contains one decides. Errors that
#: forward error correction corrected are normal from 25 Gb/s per lane on (IEEE 802.3, clauses 91
#: and 119). Durations and octets are no events. A queue pair that ends flushes its requests, which
#: also counts as completions with an error (cqe_err).
_WORDS: tuple[tuple[CounterKind, tuple[str, ...]], ...] = (
    ("errors", ("uncorrect", "exceed", "excd", "storm_error")),
    ("", ("corrected", "duration", "off_time", "us_count", "_bytes", "flush", "cqe_err")),
    ("congestion", ("cnp", "ecn")),
    ("retries", (
        "retrans", "retx", "retry", "rnr", "seq_err", "out_of_seq", "outouf_seq", "_oos", "dup_re",
        "duplicate_request", "timeout", "missing_resp", "slow_restart",
    )),
    ("drops", ("drop", "discard", "dscd", "miss", "no_buffer", "of_buf", "noroute", "hdrovr")),
    ("pauses", ("pause", "xoff", "xon", "pfc")),
    ("errors", (
        "error", "errs", "crc", "symbol", "fcs", "fifo", "downed", "recovery", "integrity",
        "overrun", "bad_", "_err", "inval", "trunc",
    )),
)  # fmt: skip


#: Largest octet count of a port's 32-bit counter of 4-octet words; a full counter stays there
#: (InfiniBand Architecture Specification Volume 1, 16.1.3.5, PortCounters).
FULL_OCTETS = 4 * 0xFFFFFFFF


def octets_per_unit(counters: Container[str]) -> int:
    """Return the octets per unit of ``port_rcv_data`` and ``port_xmit_data``.

    ``counters`` are the names of the port's other counters. The unit is a word of 4 octets
    (InfiniBand Architecture Specification Volume 1, 16.1.3.5, PortCounters); for hfi1 it is a flit
    of 8 (Linux 6.12, drivers/infiniband/hw/hfi1/mad.c, pma_get_ib_portcounters_ext; opa-ff,
    FLITS_PER_MB).
    """
    return 8 if "TxFlitVL0" in counters else 4


def kind_of(counter: str) -> CounterKind:
    """Return what a rise of a counter means; empty for any other counter."""
    if counter in _KINDS:
        return _KINDS[counter]
    name = counter.lower()
    kinds = (kind for kind, words in _WORDS if any(word in name for word in words))
    return next(kinds, "")


def list_kind_words() -> Iterator[tuple[CounterKind, tuple[str, ...], tuple[str, ...]]]:
    """Yield kinds with whole names and parts of names, in the order in which ``kind_of`` looks.

    Parts of names are in small letters and match any case.
    """
    for kind in dict.fromkeys(_KINDS.values()):
        yield kind, tuple(name for name in _KINDS if _KINDS[name] == kind), ()
    for kind, words in _WORDS:
        yield kind, (), words


def find_octets(counters: Mapping[str, int]) -> tuple[int, int] | None:
    """Return the bytes received and sent by a driver's own counters; None if it counts none."""
    return _sum_counters(counters, (driver.octets for driver in DRIVERS))


def find_packets(counters: Mapping[str, int]) -> tuple[int, int] | None:
    """Return the packets received and sent by a driver's own counters; None if it counts none."""
    return _sum_counters(counters, (driver.packets for driver in DRIVERS))


def _sum_counters(
    counters: Mapping[str, int], pairs: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]
) -> tuple[int, int] | None:
    for received, sent in pairs:
        if received and all(name in counters for name in (*received, *sent)):
            return sum(map(counters.__getitem__, received)), sum(map(counters.__getitem__, sent))
    return None
