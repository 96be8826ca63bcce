"""Counters of one node: the script's own output, and what is done with it."""

import subprocess
from importlib import resources
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.measurement import LinkReading
from fabricgauge.nodes.discover.counters import CounterReading, compute_shares, parse_counters

RAW = """\
net eth0 10 20 3 4 0 0 1 2 up -1 4
port mlx5_0:1 100 200 5 6 0 0 0 0 ACTIVE 100 0 -
cpu  100 0 50 800 20 0 30 0 0 0
cpu0 60 0 20 400 10 0 10 0 0 0
cpu1 40 0 30 400 10 0 20 0 0 0
pressure 2000000
uptime 100.5
end
"""
LATER = (
    RAW.replace("800 20 0 30", "810 20 0 120")
    .replace("10 0 20 0 0 0", "10 0 110 0 0 0")
    .replace("2000000", "3500000")
    .replace("100.5", "110.5")
)


def test_this_machine_s_own_counters_are_read() -> None:
    script = resources.files("fabricgauge.nodes.discover").joinpath("counters.sh").read_text()
    done = subprocess.run(
        ["sh", "-s"], input=script, capture_output=True, text=True, check=True, timeout=60
    )
    found = parse_counters("here", done.stdout)
    # Whatever loopback sends it receives; one file is read after the other.
    assert 0 <= found.interfaces["lo"].tx_bytes - found.interfaces["lo"].rx_bytes < 1 << 24
    assert len(found.processors) > 1
    assert found.uptime_s > 0


def test_adapter_ports_count_words_of_four_octets() -> None:
    found = parse_counters("c1", RAW)
    assert found.interfaces["mlx5_0:1"].rx_bytes == 400
    assert found.interfaces["mlx5_0:1"].tx_bytes == 800
    assert found.interfaces["eth0"].tx_bytes == 20
    assert found.interfaces["eth0"].tx_dropped == 2


def test_a_line_tells_the_link_s_state_rate_and_how_often_it_went() -> None:
    found = parse_counters("c1", RAW).interfaces
    link = found["eth0"].link
    assert isinstance(link, LinkReading)
    assert (link.state, link.counts) == ("up", {"carrier_changes": 4})
    assert isinstance(link.speed_bit_s, Skipped)
    port = found["mlx5_0:1"].link
    assert isinstance(port, LinkReading)
    assert (port.state, port.speed_bit_s, port.counts["link_downed"]) == ("ACTIVE", 100e9, 0)
    assert isinstance(port.counts["link_error_recovery"], Skipped)


def test_a_port_s_own_counters_are_told_by_how_much_they_rose() -> None:
    names = (
        "names bnxt_re0:1 lifespan=10 tx_bytes={} rnr_naks_rcvd={}\nnames mlx5_0:1 np_cnp_sent={}\n"
    )
    before = parse_counters("c1", names.format(100, 3, 4) + RAW)
    after = parse_counters("c1", names.format(4100, 3, 4) + RAW)
    assert before.compute_rises(after) == {
        "bnxt_re0:1": {"tx_bytes": 4000, "rnr_naks_rcvd": 0}, "mlx5_0:1": {},
    }  # fmt: skip
    assert parse_counters("c1", names.format(0, 0, 0) + RAW).compute_rises(after)["mlx5_0:1"] == {
        "np_cnp_sent": 4
    }
    assert after.compute_rises(before)["bnxt_re0:1"] == {"rnr_naks_rcvd": 0}
    once = parse_counters("c1", "names bnxt_re0:1 rnr_naks_rcvd=3\n" + RAW)
    assert once.compute_rises(after)["bnxt_re0:1"] == {"rnr_naks_rcvd": 0}  # no tx_bytes of 0


def told_of(folder: Path) -> CounterReading:
    """What counters.sh tells where the kernel's interfaces and adapters are those of a folder."""
    script = resources.files("fabricgauge.nodes.discover").joinpath("counters.sh").read_text()
    for kind in ("net", "infiniband"):
        script = script.replace(f"/sys/class/{kind}", str(folder))
    done = subprocess.run(
        ["sh", "-s"], input=script, capture_output=True, text=True, check=True, timeout=60
    )
    return parse_counters("here", done.stdout)


def test_counters_of_an_adapter_are_read_under_their_names(tmp_path: Path) -> None:
    """As on a port of software RDMA, which keeps none of the standard's, and of mlx5."""
    for place, number in (
        ("rxe0/ports/1/hw_counters/sent_pkts", 122255),
        ("rxe0/ports/1/hw_counters/lifespan", 12),
        ("mlx5_0/ports/1/counters/symbol_error", 7),
        ("mlx5_0/ports/1/hw_counters/np_cnp_sent", 9),
    ):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    found = told_of(tmp_path)
    assert found.ports == {
        "mlx5_0:1": {"np_cnp_sent": 9, "symbol_error": 7}, "rxe0:1": {"sent_pkts": 122255},
    }  # fmt: skip


def test_a_counter_whose_reading_fails_costs_no_other(tmp_path: Path) -> None:
    """A folder in its place can be opened and not read, as a file whose driver says EIO."""
    net, port = tmp_path / "eth0/statistics", tmp_path / "mlx5_0/ports/1/counters"
    kept = ("data", "packets", "errors", "discards", "constraint_errors", "bytes", "dropped")
    for way, folder in product(("rx", "tx", "port_rcv", "port_xmit"), (net, port)):
        folder.mkdir(parents=True, exist_ok=True)
        for one in kept:
            (folder / f"{way}_{one}").write_text("7\n")
    for unread in (net / "rx_dropped", port / "port_rcv_errors"):
        unread.unlink()
        unread.mkdir()
    found = told_of(tmp_path).interfaces
    eth0, mlx5 = found["eth0"], found["mlx5_0:1"]
    assert isinstance(eth0.rx_dropped, Skipped) and isinstance(mlx5.rx_errors, Skipped)
    assert (eth0.tx_dropped, mlx5.tx_errors, mlx5.tx_dropped) == (7, 7, 7)


def test_the_busiest_processor_is_not_hidden_by_the_mean() -> None:
    did = compute_shares(parse_counters("c1", RAW), parse_counters("c1", LATER))
    assert did.idle == pytest.approx(0.1)
    assert did.softirq == pytest.approx(0.9)
    assert did.busiest_softirq == pytest.approx(1.0)
    assert (did.waited_s, did.wall_s) == pytest.approx((1.5, 10.0))


def test_what_the_script_cannot_read_is_absent_and_no_0() -> None:
    raw = RAW.replace("5 6 0 0 0 0", "5 6 0 - 0 -").replace("net eth0 10", "net eth0 -")
    found = parse_counters("c1", raw.replace("pressure 2000000\n", ""))
    assert isinstance(found.interfaces["mlx5_0:1"].tx_errors, Skipped)
    assert found.interfaces["mlx5_0:1"].rx_errors == 0
    assert "eth0" not in found.interfaces
    assert "could not be read" in found.absent["eth0"]
    assert isinstance(found.waited_s, Skipped)
    assert isinstance(compute_shares(found, found).waited_s, Skipped)


def test_a_node_that_tells_of_no_processor_has_no_shares() -> None:
    found = parse_counters("c1", "net eth0 1 2 3 4 5 6 7 8 up 10 0\nuptime 3\nend\n")
    assert isinstance(compute_shares(found, found).idle, Skipped)


@pytest.mark.parametrize("cut", range(0, len(RAW) - 5, 7))
def test_counters_that_are_cut_off_are_refused(cut: int) -> None:
    with pytest.raises(ProbeError, match="c1"):
        parse_counters("c1", RAW[:cut])


@given(st.text(max_size=200))
def test_foreign_text_is_refused_in_words(text: str) -> None:
    try:
        parse_counters("c1", text)
    except ProbeError as error:
        assert "c1" in str(error)
