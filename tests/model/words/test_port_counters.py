"""What drivers call the counters of their ports, and what a rise of each means."""

import pytest

from fabricgauge.model.words.port_counters import DRIVERS, find_octets, find_packets, kind_of

#: All of what Linux's software RDMA counted on a port between two readings.
RXE = {
    "ack_deferred": 53226, "completer_retry_err": 1, "duplicate_request": 3, "link_downed": 0,
    "out_of_seq_request": 0, "rcvd_pkts": 98462, "rcvd_rnr_err": 0, "rcvd_seq_err": 0,
    "rdma_recvs": 1508, "rdma_sends": 1997, "retry_exceeded_err": 0, "retry_rnr_exceeded_err": 0,
    "send_err": 0, "send_rnr_err": 0, "sent_pkts": 122255,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("retries", "out_of_sequence packet_seq_err local_ack_timeout_err rnr_nak_retry_err"
         " implied_nak_seq_err duplicate_request roce_adp_retrans roce_slow_restart"),
        ("congestion", "np_cnp_sent rp_cnp_handled np_ecn_marked_roce_packets RxECNMrkd"
         " roce_slow_restart_cnps tx_rdma_cnp_pkts"),
        ("retries", "to_retransmits seq_err_naks_rcvd rnr_naks_rcvd missing_resp oos_drop_count"),
        ("retries", "sq_num_rnr rq_num_oos sq_num_to tcpRetransSegs req_rx_pkt_seq_err"),
        ("errors", "req_transport_retries_exceeded max_retry_exceeded retry_rnr_exceeded_err"
         " req_tx_retry_excd_err symbol_error rx_crc_errors_phy local_link_integrity_errors"),
        ("pauses", "rx_prio3_pause tx_prio3_pause rx_pfc_ena_frames_pri0 rx_xoff_packets"),
        ("drops", "out_of_buffer rx_discards_phy ip4InDiscards rx_drops VL15_dropped rx_dropped"),
        ("", "ack_deferred recoverable_errors req_cqe_flush_error rx_prio3_pause_duration"
         " rx_corrected_bits_phy rdma_sends sent_pkts tx_bytes rx_write_requests active_qps"),
    ],
)  # fmt: skip
def test_each_driver_s_words_are_known_for_what_they_count(kind: str, names: str) -> None:
    assert {name: kind_of(name) for name in names.split()} == dict.fromkeys(names.split(), kind)


def test_octets_are_those_of_the_driver_and_lacking_where_it_counts_packets_alone() -> None:
    bnxt = {"rx_bytes": 7, "tx_bytes": 5, "rx_pkts": 2, "tx_pkts": 1, "rnr_naks_rcvd": 0}
    assert (find_octets(bnxt), find_packets(bnxt)) == ((7, 5), (2, 1))
    irdma = {"ip4InOctets": 7, "ip6InOctets": 1, "ip4OutOctets": 5, "ip6OutOctets": 2}
    assert find_octets(irdma) == (8, 7)
    assert (find_octets(RXE), find_packets(RXE)) == (None, (98462, 122255))
    assert find_octets({}) is None


def test_every_row_names_its_source() -> None:
    assert all(one.source for one in DRIVERS)
    assert len({one.driver for one in DRIVERS}) == len(DRIVERS)
