"""Counters that rise while nothing is measured."""

import msgspec
import pytest
from tests.doctor.clusters import clean, findings, only, with_interface

from fabricgauge.model.finding import Severity
from fabricgauge.model.preflight import Preflight, Rise


def risen(*rises: Rise, seconds: float = 3.0) -> Preflight:
    return msgspec.structs.replace(clean(), rises=rises, seconds=seconds)


def test_errors_that_rise_are_named_at_once_and_drops_from_a_rate_on() -> None:
    found = only(risen(Rise("c2", "eth0", "rx_crc_errors", 2, 3.0)))
    assert (found.check, found.where, found.severity) == ("counters", "c2:eth0", Severity.FAIL)
    found = only(risen(Rise("c2", "mlx5_0:1", "symbol_error", 1, 3.0)))
    assert (found.where, found.severity) == ("c2:mlx5_0:1", Severity.WARN)
    assert findings(risen(Rise("c2", "eth0", "rx_dropped", 3, 3.0))) == []
    found = only(risen(Rise("c2", "eth0", "rx_dropped", 30, 3.0)))
    assert found.severity is Severity.WARN and "drops frames" in found.what


def test_counters_of_one_port_are_one_finding_and_a_bridges_are_its_own_affair() -> None:
    found = only(risen(
        Rise("c2", "mlx5_0:1", "symbol_error", 5, 3.0),
        Rise("c2", "mlx5_0:1", "port_rcv_errors", 2, 3.0),
        Rise("c2", "docker0", "rx_errors", 2, 3.0),
        Rise("c2", "eth0", "rx_packets", 9999, 3.0),
    ))  # fmt: skip
    assert (found.where, len(found.evidence)) == ("c2:mlx5_0:1", 2)


def test_what_all_members_of_a_network_drop_is_its_own_chatter() -> None:
    """Frames to everybody of a protocol or VLAN that no node knows."""
    every = [Rise(f"c{number}", "eth0", "rx_dropped", 30, 3.0) for number in (1, 2, 3, 4)]
    found = only(risen(*every))
    assert (found.severity, len(found.nodes)) == (Severity.NOTE, 4)
    two = findings(risen(*every[:2]))
    assert [one.severity for one in two] == [Severity.WARN]


def test_what_forward_error_correction_mends_is_no_error() -> None:
    names = ("rx_corrected_bits_phy", "fec_corrected_symbols", "rx_prio3_pause_duration")
    assert findings(risen(*(Rise("c2", "eth0", name, 9000, 3.0) for name in names))) == []


def test_pauses_that_go_on_are_named() -> None:
    found = only(risen(Rise("c2", "eth0", "rx_prio3_pause", 900, 3.0)))
    assert "paused" in found.what


@pytest.mark.parametrize(
    ("port", "counter", "words"),
    [
        ("bnxt_re0:1", "rnr_naks_rcvd", "sends RDMA packets again"),
        ("mlx5_0:1", "out_of_sequence", "sends RDMA packets again"),
        ("mlx5_0:1", "np_cnp_sent", "congestion"),
        ("eth0", "rx_pfc_ena_frames_pri3", "is paused"),
    ],
)
def test_retries_congestion_and_priority_pauses_are_named_by_each_driver_s_words(
    port: str, counter: str, words: str
) -> None:
    found = only(risen(Rise("c2", port, counter, 90, 3.0)))
    assert (found.where, found.severity) == (f"c2:{port}", Severity.WARN)
    assert words in found.what
    assert findings(risen(Rise("c2", port, counter, 2, 3.0))) == []


def test_what_an_adapter_counts_besides_is_nothing() -> None:
    names = ("recoverable_errors", "ack_deferred", "rdma_sends", "req_cqe_flush_error")
    assert findings(risen(*(Rise("c2", "rxe0:1", name, 9000, 3.0) for name in names))) == []


def test_drops_by_a_small_mtu_are_told_with_it() -> None:
    preflight = with_interface(clean(), "c3:eth0", mtu_bytes=1500)
    rises = (Rise("c3", "eth0", "rx_dropped", 90, 3.0),)
    found = only(msgspec.structs.replace(preflight, rises=rises))
    assert found.check == "mtu"
    assert any("therefore counters" in line for line in found.evidence)
