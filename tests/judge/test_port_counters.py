"""Runs on adapters whose drivers count octets, loss and congestion under names of their own."""

from collections.abc import Callable

import msgspec
import pytest
from tests.judge.planted import by_rule
from tests.judge.test_rdma_networks import CLUSTERS, checked, judged, ports
from tests.nodes.discover.test_ports import alike

from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.model.measurement import Measurement, NodeCounters
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words.port_counters import FULL_OCTETS

PORT = "mlx5_0:1"


def counted(change: Callable[[NodeCounters], NodeCounters]) -> Run:
    """A sound run on one RoCE port of each node, with its counters changed."""
    cards, network, half_rtt_s, rate = CLUSTERS["RoCE behind PCIe 3 x8"]
    of = alike(cards)
    run = checked(of, network, half_rtt_s, rate, ports(of, network))

    def changed(one: Measurement) -> Measurement:
        return msgspec.structs.replace(one, counters=tuple(map(change, one.counters)))

    launches = [
        msgspec.structs.replace(one, measurements=tuple(map(changed, one.measurements)))
        for one in run.launches
    ]
    return msgspec.structs.replace(run, launches=tuple(launches))


def by_driver(received: str, sent: str, **more: int) -> Callable[[NodeCounters], NodeCounters]:
    """The port's octets under names of its driver alone; the standard's are not there."""

    def change(one: NodeCounters) -> NodeCounters:
        octets = one.after[PORT].tx_bytes - one.before[PORT].tx_bytes
        before, after = (
            {n: c for n, c in of.items() if n != PORT} for of in (one.before, one.after)
        )
        own = {PORT: {received: 0, sent: octets, **more}}
        return msgspec.structs.replace(one, before=before, after=after, ports=own)

    return change


def risen(**rises: int) -> Callable[[NodeCounters], NodeCounters]:
    return lambda one: msgspec.structs.replace(one, ports={PORT: rises})


def verdict(run: Run, rule: str) -> Verdict:
    (one,) = by_rule(judged(run).verdicts, rule)
    return one


@pytest.mark.parametrize(
    ("received", "sent"),
    [("rx_bytes", "tx_bytes"), ("rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes")],
)
def test_octets_of_the_driver_prove_the_path(received: str, sent: str) -> None:
    run = counted(by_driver(received, sent))
    assert verdict(run, "path").outcome is Outcome.PASS


@pytest.mark.parametrize("begins", [0, FULL_OCTETS])
def test_a_port_whose_counter_is_full_accuses_no_shared_memory(begins: int) -> None:
    def change(one: NodeCounters) -> NodeCounters:
        full = msgspec.structs.replace(one.after[PORT], tx_bytes=FULL_OCTETS)
        before = msgspec.structs.replace(full, tx_bytes=begins)
        return msgspec.structs.replace(
            one, before={**one.before, PORT: before}, after={**one.after, PORT: full}
        )

    told = verdict(counted(change), "path")
    assert told.outcome is Outcome.INCONCLUSIVE
    assert "too few counters were read to prove the path" in told.summary
    assert any(f"the counter of {PORT} is full" in line for line in told.evidence)


def test_octets_that_the_standard_leaves_at_0_are_the_driver_s() -> None:
    def change(one: NodeCounters) -> NodeCounters:
        octets = one.after[PORT].tx_bytes - one.before[PORT].tx_bytes
        own = {PORT: {"tx_bytes": octets, "rx_bytes": 0}}
        return msgspec.structs.replace(one, after=one.before, ports=own)

    assert verdict(counted(change), "path").outcome is Outcome.PASS


def test_a_port_that_counts_packets_alone_is_said_to_lack_octets() -> None:
    run = counted(by_driver("rcvd_pkts", "sent_pkts"))
    found = verdict(run, "path")
    assert found.outcome is not Outcome.PASS
    assert any("mlx5_0:1 counts no octets" in line for line in found.evidence)


@pytest.mark.parametrize(
    ("counter", "says"),
    [
        ("np_cnp_sent", "switches or receivers reported congestion"),
        ("packet_seq_err", "RDMA packets were sent again"),
        ("rnr_nak_retry_err", "RDMA packets were sent again"),
    ],
)
def test_congestion_and_retries_under_load_are_named(counter: str, says: str) -> None:
    found = verdict(counted(risen(**{counter: 500})), "errors")
    assert found.outcome is Outcome.WARN
    assert found.summary.startswith(says)
    assert f"{counter} of c1:{PORT} rose by" in found.summary


def test_a_few_of_them_are_no_fault() -> None:
    packets = {"rx_pkts": 10**6, "tx_pkts": 10**6}
    few = counted(risen(np_cnp_sent=900, **packets))
    assert verdict(few, "errors").outcome is Outcome.PASS
    many = counted(risen(np_cnp_sent=1100, **packets))
    assert verdict(many, "errors").outcome is Outcome.WARN


def test_symbol_errors_of_a_port_are_named_before_congestion() -> None:
    found = verdict(counted(risen(symbol_error=2, np_cnp_sent=900)), "errors")
    assert found.summary == f"error or drop counters rose on c1:{PORT} and c2:{PORT}"
    assert any("np_cnp_sent" in line for line in found.evidence)


def test_what_is_no_trouble_is_none() -> None:
    run = counted(risen(rx_write_requests=10**6, req_cqe_flush_error=64, link_downed=1))
    assert verdict(run, "errors").outcome is Outcome.PASS
    assert all(not one.troubles for one in gather_evidence(run).networks)
