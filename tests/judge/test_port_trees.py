"""Each driver's tree of counters: octets are found, and each kind of trouble is named."""

import re
from pathlib import Path

import pytest
from tests.doctor.clusters import only
from tests.doctor.test_counters import risen as quiet
from tests.judge.test_port_counters import PORT, counted, risen, verdict
from tests.port_trees import DRIVERS, FOLDER, names, read

from fabricgauge.model.preflight import Rise
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.port_counters import CounterKind, find_octets, kind_of

#: By driver, what rises of octets: received, sent, and how many octets one is.
OCTETS = {
    "mlx5": ("port_rcv_data", "port_xmit_data", 4), "mlx4": ("port_rcv_data", "port_xmit_data", 4),
    "hfi1": ("port_rcv_data", "port_xmit_data", 8), "bnxt_re": ("rx_bytes", "tx_bytes", 1),
    "efa": ("rx_bytes", "tx_bytes", 1), "irdma": ("ip4InOctets", "ip6OutOctets", 1),
    "ionic": ("rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes", 1),
}  # fmt: skip

#: By driver and kind, counters of its tree. Pauses are those of ``ethtool -S``; where a kind is not
#: here, the driver counts none of it.
PLANTED: dict[str, dict[CounterKind, str]] = {
    "mlx5": {
        "errors": "symbol_error req_transport_retries_exceeded req_remote_invalid_request"
        " rx_icrc_encapsulated tx_pause_storm_error_events",
        "drops": "out_of_buffer VL15_dropped", "pauses": "rx_prio3_pause",
        "congestion": "np_cnp_sent rp_cnp_handled", "retries": "packet_seq_err out_of_sequence",
    },
    "mlx4": {
        "errors": "sq_num_tree rq_num_lle sq_num_roe", "drops": "port_xmit_discards",
        "pauses": "rx_pause_prio_3", "retries": "sq_num_to rq_num_dup sq_num_oos",
    },
    "hfi1": {
        "errors": "TxUnVLErr XmitCstrErr OtherNak TxInvalLen",
        "drops": "PktDrop RcvHdrOvr2 XmitDscd,32 XmitDscdVl15,32",
        "retries": "RcResend RcTimeOut RcSeqNak RcDupRew RnrNak",
    },
    "bnxt_re": {
        "errors": "max_retry_exceeded res_irrq_oflow res_rx_invalid_rkey",
        "drops": "rx_out_of_buffer rx_roce_discards", "pauses": "rx_pfc_ena_frames_pri3",
        "congestion": "rx_cnp_pkts rx_ecn_marked_pkts", "retries": "to_retransmits oos_drop_count",
    },
    "efa": {
        "errors": "rdma_read_wr_err impaired_remote_conn_events", "drops": "rx_drops",
        "retries": "retrans_pkts retrans_timeout_events",
    },
    "ionic": {
        "errors": "req_tx_retry_excd_err req_rx_inval_pkts resp_rx_outof_atomic",
        "drops": "resp_rx_outof_buf rx_rdma_mtu_discard_pkts", "pauses": "frames_rx_pripause",
        "congestion": "rx_rdma_cnp_pkts rx_rdma_ecn_pkts",
        "retries": "tx_rdma_ack_timeout resp_rx_outouf_seq tx_rdma_retx_pkts req_rx_dup_response",
    },
    "irdma": {
        "errors": "rxVlanErrors ip4InTruncatedPkts", "drops": "ip4InDiscards ip6OutNoRoutes",
        "pauses": "rx_priority_3_xoff.nic", "congestion": "cnpSent RxECNMrkd",
        "retries": "tcpRetransSegs",
    },
    "hns": {
        "errors": "rx_err_pkt trp_get_mpt_err_pkt", "pauses": "mac_rx_pfc_pri3_pkt_num",
        "congestion": "rx_cnp_pkt tx_cnp_pkt",
    },
    "rxe": {"errors": "retry_exceeded_err send_err", "retries": "rcvd_seq_err duplicate_request"},
    "siw": {},
}  # fmt: skip
CASES = [
    (driver, kind, name)
    for driver, kinds in PLANTED.items()
    for kind, several in kinds.items()
    for name in several.split()
]

#: What sounds like trouble and is left out on purpose, by reason.
IGNORED = {
    "time in ticks or microseconds": r"port_xmit_wait|TxWait.*|.*duration.*|.*xoff_time|.*us_count",
    "octets: the packets beside them count": r"(tx_rdma|tx_rdma_ccl_cts)_retx_bytes|retrans_bytes",
    "flushed work, and completions with it": r".*flush.*|(req|resp)(_rx)?_cqe_err(or)?|.q_num_wrfe",
    "broadcasts, and a register": "recoverable_errors|db_fifo_register",
    "links come and go: the rule links": "SwLink(Down|Up),32",
    "waits of the host or for credits": "TxFlowStall|DmaWait|RcCrWait",
    "no fault": r"UnknownFrame|ack_deferred|ecn_doorbell|rx_corrected_bits_phy",
}
SUSPECT = re.compile(
    r"err|fail|drop|disc|dscd|timeout|nak|retr|inval|mismatch|exceed|excd|ov[fr]|oflow|unsup|trunc"
    r"|noroute|miss|lost|dup|seq|wait|flush|bad|down|stall|underrun|pause|cnp|ecn|unknown|wrfe|oos",
    re.IGNORECASE,
)


@pytest.mark.parametrize("driver", DRIVERS)
def test_octets_of_each_driver_are_found_or_lacking(driver: str, tmp_path: Path) -> None:
    received, sent, unit = OCTETS.get(driver, ("", "", 0))
    before, after = read(tmp_path, driver, {}), read(tmp_path, driver, {received: 1000, sent: 3000})
    (port,) = after.ports
    if port in after.interfaces:
        was, now = before.interfaces[port], after.interfaces[port]
        found = now.rx_bytes - was.rx_bytes, now.tx_bytes - was.tx_bytes
        assert found == (1000 * unit, 3000 * unit)
    else:
        rises = before.compute_rises(after)[port]
        assert find_octets(rises) == ((1000, 3000) if unit else None)


@pytest.mark.parametrize(("driver", "kind", "name"), CASES)
def test_a_rise_of_each_kind_is_named_under_load_and_while_quiet(
    driver: str, kind: CounterKind, name: str
) -> None:
    assert name in names(driver)
    assert kind_of(name) == kind
    found = only(quiet(Rise("c2", PORT, name, 900, 3.0)))
    assert found.where == f"c2:{PORT}"
    assert any(name in line for line in found.evidence)
    told = verdict(counted(risen(**{name: 500})), "errors")
    assert told.outcome is Outcome.WARN
    assert any(f"{name} of c1:{PORT} rose by" in line for line in told.evidence)


def test_no_name_that_sounds_like_trouble_is_left_out_without_a_reason() -> None:
    every = set().union(*map(names, DRIVERS))
    silent = {name for name in every if kind_of(name) == "" and SUSPECT.search(name)}
    reasons = re.compile("|".join(IGNORED.values()))
    assert {name for name in silent if not reasons.fullmatch(name)} == set()
    # A reason that nothing needs is gone.
    assert all(any(map(re.compile(one).fullmatch, silent)) for one in IGNORED.values())


def test_what_is_left_out_raises_no_alarm() -> None:
    many = dict.fromkeys(("db_fifo_register", "resp_cqe_error", "retrans_bytes"), 10**6)
    assert verdict(counted(risen(**many)), "errors").outcome is Outcome.PASS


def test_old_kernels_that_say_no_pma_are_read(tmp_path: Path) -> None:
    """As recorded on i40iw (prometheus/node_exporter, issue 966)."""
    from tests import port_trees

    tree = {place: "N/A (no PMA)" if "/counters/" in place else said
            for place, said in port_trees.tree("mlx4").items()}  # fmt: skip
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(port_trees, "tree", lambda driver: tree)
        found = read(tmp_path, "mlx4", {})
    assert found.absent == {"mlx4_0:1": "its octets or packets could not be read"}
    assert found.ports["mlx4_0:1"]["sq_num_to"] == 0


def test_each_tree_says_where_it_comes_from() -> None:
    assert set(DRIVERS) == set(PLANTED)
    for driver in DRIVERS:
        lines = (FOLDER / f"{driver}.tree").read_text().splitlines()
        head = " ".join(line[2:] for line in lines if line.startswith("# "))
        assert re.match(rf"{driver}\b.*(recorded|counts nothing)", head)
