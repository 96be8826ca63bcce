"""Faults in the counters of real drivers are named; healthy nodes of all kinds are silent."""

from pathlib import Path
from random import Random

import pytest
from tests.features.health.node import BOOT, Node, build_node
from tests.features.health.test_tools import install
from tests.port_trees import tree

from fabricgauge.features.health.expectations import Expectations, read_expectations
from fabricgauge.features.health.learn import learn_expectations, parse_facts

#: Of ``ethtool -I --show-fec``, as ethtool 6.1 prints it.
FEC = """FEC parameters for eth0:
Supported/Configured FEC encodings: Auto Off RS
Active FEC encoding: RS
Statistics:
  corrected_blocks: 99999999
  uncorrectable_blocks: {}
"""


class Adapter:
    """A node with the port and the interface of one driver, as it names their counters."""

    def __init__(self, root: Path, driver: str) -> None:
        self.node = build_node(root)
        files = tree(driver)
        self._counts = {path.rpartition("/")[2]: path for path in files}
        self._values = dict(files)
        self.fec = 0
        device = next(iter(files)).partition("/")[0]
        self.port = f"{device}:1"
        self._write()
        self.known = read_expectations(
            'version = 1\n[[class]]\nnodes = "n1"\n[class.net.eth0]\nlink = "up"\n'
            f'[class.port."{self.port}"]\nlink = "up"\n', "health.toml"
        )  # fmt: skip

    def raise_counter(self, name: str, rise: int) -> None:
        if name == "uncorrectable_blocks":
            self.fec += rise
        else:
            path = self._counts[name]
            self._values[path] = str(int(self._values[path]) + rise)
        self._write()

    def _write(self) -> None:
        own = []
        for path, value in self._values.items():
            if path.startswith("ethtool/"):
                own.append(f"     {path.removeprefix('ethtool/')}: {value}")
            else:
                self.node.write(f"sys/class/infiniband/{path}", value)
        counters = "\n".join(("NIC statistics:", *own))
        install(
            self.node, "ethtool",
            f"case $* in '-S eth0') cat <<E\n{counters}\nE\n;;\n"
            f"'-I --show-fec eth0') cat <<E\n{FEC.format(self.fec)}E\n;; *) exit 1 ;; esac",
        )  # fmt: skip


#: Driver, counter, rise, and what the check answers.
PLANTED = [
    ("mlx5", "symbol_error", 11, "WARN: mlx5_0:1 11 link errors in 1 h (limit 10)"),
    ("mlx5", "symbol_error", 101, "FAIL: mlx5_0:1 101 link errors in 1 h (limit 100)"),
    ("mlx5", "link_error_recovery", 11, "WARN: mlx5_0:1 11 link errors"),
    ("mlx5", "local_link_integrity_errors", 11, "WARN: mlx5_0:1 11 link errors"),
    ("mlx5", "excessive_buffer_overrun_errors", 11, "WARN: mlx5_0:1 11 link errors"),
    ("mlx5", "port_rcv_remote_physical_errors", 11, "WARN: mlx5_0:1 11 link errors"),
    ("mlx5", "link_downed", 1, "WARN: mlx5_0:1 1 link flaps in 1 h (limit 0)"),
    ("mlx5", "port_xmit_discards", 3601, "WARN: mlx5_0:1 3601 dropped frames"),
    ("mlx5", "VL15_dropped", 3601, "WARN: mlx5_0:1 3601 dropped frames"),
    ("mlx5", "out_of_buffer", 3601, "WARN: mlx5_0:1 3601 dropped frames"),
    ("mlx5", "local_ack_timeout_err", 3601, "WARN: mlx5_0:1 3601 retransmissions"),
    ("mlx5", "uncorrectable_blocks", 1, "WARN: eth0 1 uncorrectable errors in 1 h (limit 0)"),
    ("mlx5", "uncorrectable_blocks", 101, "FAIL: eth0 101 uncorrectable errors"),
    ("mlx5", "rx_prio3_pause", 36_001, "WARN: eth0 36001 pause frames"),
    ("mlx5", "tx_pause_storm_error_events", 1, "WARN: eth0 1 pause storms in 1 h (limit 0)"),
    ("mlx5", "tx_pause_storm_warning_events", 1, "PASS"),
    ("mlx4", "port_rcv_errors", 11, "WARN: mlx4_0:1 11 link errors"),
    ("mlx4", "rx_pause_prio_3", 36_001, "WARN: eth0 36001 pause frames"),
    ("hfi1", "link_downed", 1, "WARN: hfi1_0:1 1 link flaps"),
    ("hfi1", "excessive_buffer_overrun_errors", 361, "FAIL: hfi1_0:1 361 link errors"),
    ("hfi1", "XmitDscd,32", 3601, "WARN: hfi1_0:1 3601 dropped frames"),
    ("hfi1", "RcResend", 3601, "WARN: hfi1_0:1 3601 retransmissions"),
    ("bnxt_re", "rx_pfc_ena_frames_pri3", 36_001, "WARN: eth0 36001 pause frames"),
    ("bnxt_re", "rx_fec_uncorrectable_blocks", 1, "WARN: eth0 1 uncorrectable errors"),
    ("bnxt_re", "rx_roce_discards", 3601, "WARN: bnxt_re0:1 3601 dropped frames"),
    ("bnxt_re", "to_retransmits", 3601, "WARN: bnxt_re0:1 3601 retransmissions"),
    # ice and i40e have a point in their names.
    ("irdma", "rx_priority_3_xoff.nic", 36_001, "WARN: eth0 36001 pause frames"),
    ("irdma", "uncorrectable_blocks", 1, "WARN: eth0 1 uncorrectable errors"),
    ("irdma", "ip4InDiscards", 3601, "WARN: {} 3601 dropped frames"),
]  # fmt: skip


@pytest.mark.parametrize(("driver", "counter", "rise", "words"), PLANTED)
def test_a_rise_of_a_drivers_counter_is_named(
    tmp_path: Path, driver: str, counter: str, rise: int, words: str
) -> None:
    adapter = Adapter(tmp_path, driver)
    assert adapter.node.check(expectations=adapter.known).text.startswith("PASS")
    adapter.raise_counter(counter, rise)
    status, text, _ = adapter.node.check(expectations=adapter.known)
    assert text.startswith(words.format(adapter.port))
    assert status == int(words.startswith("FAIL"))


def test_blocks_that_both_sources_count_are_counted_once(tmp_path: Path) -> None:
    adapter = Adapter(tmp_path, "bnxt_re")
    adapter.node.check(expectations=adapter.known)
    adapter.raise_counter("rx_fec_uncorrectable_blocks", 60)
    adapter.raise_counter("uncorrectable_blocks", 60)
    status, text, _ = adapter.node.check(expectations=adapter.known)
    assert (status, "eth0 60 uncorrectable errors" in text) == (0, True)


def test_blocks_that_a_link_counts_while_it_trains_drain_no_node(tmp_path: Path) -> None:
    adapter = Adapter(tmp_path, "mlx5")
    adapter.node.check(expectations=adapter.known)
    adapter.raise_counter("uncorrectable_blocks", 10**6)
    adapter.node.net("carrier_down_count", 2)
    status, text, _ = adapter.node.check(expectations=adapter.known)
    assert (status, text.startswith("WARN: eth0 1 link flaps")) == (0, True)
    assert "eth0 1000000 uncorrectable errors" in text


#: What a port of four lanes shows if some are lost, or if its cable runs at half speed.
DEGRADED = [
    ("100 Gb/sec (4X EDR)", "75 Gb/sec (3X EDR)"),
    ("100 Gb/sec (4X EDR)", "50 Gb/sec (2X EDR)"),
    ("100 Gb/sec (4X EDR)", "25 Gb/sec (1X EDR)"),
    ("200 Gb/sec (4X HDR)", "100 Gb/sec (2X HDR)"),
    ("200 Gb/sec (4X HDR)", "100 Gb/sec (4X EDR)"),
    ("400 Gb/sec (4X NDR)", "200 Gb/sec (4X HDR)"),
    ("400 Gb/sec (4X NDR)", "300 Gb/sec (3X NDR)"),
    ("5 Gb/sec (1X DDR)", "2.5 Gb/sec (1X SDR)"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "rate"), DEGRADED)
def test_a_port_with_lost_lanes_or_half_its_speed_fails(
    tmp_path: Path, expected: str, rate: str
) -> None:
    node = build_node(tmp_path)
    known = read_expectations(
        f'version = 1\n[[class]]\nnodes = "n1"\n[class.port."mlx5_0:1"]\nlink = "up"\n'
        f'rate = "{expected}"\n', "health.toml"
    )  # fmt: skip
    node.port("rate", expected)
    assert node.check(expectations=known).text.startswith("PASS")
    node.port("rate", rate)
    answer = node.check(expectations=known)
    assert (answer.status, answer.text) == (1, f"FAIL: mlx5_0:1 at {rate}, {expected} expected\n")


RATES = (
    "2.5 Gb/sec (1X SDR)", "10 Gb/sec (4X SDR)", "14 Gb/sec (1X FDR)", "56 Gb/sec (4X FDR)",
    "25 Gb/sec (1X EDR)", "100 Gb/sec (4X EDR)", "50 Gb/sec (1X HDR)", "200 Gb/sec (4X HDR)",
    "400 Gb/sec (4X NDR)", "800 Gb/sec (4X XDR)",
)  # fmt: skip
SLOT = "sys/devices/pci0000:60/0000:60:01.0"
ERRORS = (
    ("net", "statistics/rx_errors"), ("port", "counters/symbol_error"),
    ("port", "counters/port_rcv_errors"),
)  # fmt: skip
#: Counters that may rise by 3,600 in an hour, and one that may rise by anything.
CHATTER = (
    ("net", "statistics/rx_dropped"), ("port", "counters/port_xmit_discards"),
    ("port", "hw_counters/out_of_sequence"), ("port", "counters/port_xmit_wait"),
)  # fmt: skip


def vary(node: Node, random: Random) -> None:
    """Give a node another healthy hardware and any history of its counters."""
    node.net("speed", random.choice((1000, 10_000, 25_000, 40_000, 100_000, 200_000, 400_000)))
    node.net("mtu", random.choice((1500, 2044, 4092, 9000, 9216)))
    node.net("operstate", random.choice(("up", "up", "unknown", "dormant")))
    node.port("rate", random.choice(RATES))
    node.port("link_layer", random.choice(("InfiniBand", "Ethernet")))
    node.port("lid", f"0x{random.randrange(1, 0xBFFF):x}")
    speed, width = random.choice((2.5, 5.0, 8.0, 16.0, 32.0, 64.0)), random.choice((1, 2, 4, 8, 16))
    for place in (SLOT, f"{SLOT}/0000:61:00.0"):
        node.write(f"{place}/current_link_speed", f"{speed} GT/s PCIe")
        node.write(f"{place}/current_link_width", width)
    lock = random.choice(("unlimited", "65536", "137438953472"))
    node.write("proc/self/limits", f"Max locked memory         {lock}   {lock}   bytes")
    for kind, name in (*ERRORS, *CHATTER, ("net", "carrier_down_count")):
        (node.net if kind == "net" else node.port)(name, random.choice((0, random.getrandbits(31))))


def go_on(node: Node, random: Random, uptime_s: float) -> float:
    """Let time pass: a few errors and the usual chatter, or a restart, which begins at 0."""
    if random.random() < 0.1:
        node.at(30, f"{random.getrandbits(32):08x}{BOOT[8:]}")
        for kind, name in (*ERRORS, *CHATTER):
            (node.net if kind == "net" else node.port)(name, random.randrange(1000))
        return 30
    uptime_s += random.uniform(60, 7200)
    node.at(uptime_s)
    for kind, name in (random.choice(ERRORS), *CHATTER):
        folder = "net/eth0" if kind == "net" else "infiniband/mlx5_0/ports/1"
        path = node.root / "sys/class" / folder / name
        most = 10 if (kind, name) in ERRORS else 1800
        path.write_text(f"{int(path.read_text()) + random.randrange(most)}\n")
    return uptime_s


def learn(node: Node) -> Expectations:
    return learn_expectations({"n1": parse_facts("n1", node.check("--facts").text)})


@pytest.mark.parametrize("nodes", [10, pytest.param(500, marks=pytest.mark.slow)])
def test_healthy_variations_are_silent(tmp_path: Path, nodes: int) -> None:
    """Each node passes what was learned from it, twice, whatever happens meanwhile."""
    for number in range(nodes):
        random = Random(number)  # noqa: S311 -- no secret
        node = build_node(tmp_path / f"{number}")
        vary(node, random)
        known, uptime_s = learn(node), 90_000.0
        for _ in range(2):
            assert node.check("--for", "slurm", expectations=known) == (0, "", ""), number
            uptime_s = go_on(node, random, uptime_s)
