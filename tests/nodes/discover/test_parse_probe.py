from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import Address, Interface, Node, Shaper
from fabricgauge.nodes.discover.parse_probe import parse_probe

FIXTURES = Path(__file__).parents[2] / "fixtures" / "probe"
CASES = sorted(path.stem for path in FIXTURES.glob("*.out"))


def raw(case: str) -> str:
    return (FIXTURES / f"{case}.out").read_text("utf-8")


def interface(case: str, name: str, text: str | None = None) -> Interface:
    found = parse_probe("n1", text or raw(case)).interface(name)
    assert isinstance(found, Interface)
    return found


def test_every_recorded_answer_has_its_provenance() -> None:
    assert CASES
    assert all((FIXTURES / f"{case}.meta").is_file() for case in CASES)


def test_a_node_says_who_it_is_and_how_it_is_tuned() -> None:
    node = parse_probe("door", raw("shaped-veth"))
    assert (node.name, node.hostname, node.cpu_count) == ("door", "n1", 2)
    assert node.net_namespace.startswith("net:[")
    assert len(node.boot_id) == 36
    assert node.facts["net.ipv4.tcp_timestamps"] == "1"
    assert node.facts["net.ipv4.tcp_rmem"] == "4096 131072 33554432"
    assert "cpu model" in node.facts
    assert "load average" in node.facts


def test_a_shaped_veth_has_no_physical_rate_but_a_token_bucket() -> None:
    data = interface("shaped-veth", "data0")
    assert data.driver == "veth"
    assert data.carrier is True
    assert data.mtu_bytes == 9000
    assert isinstance(data.speed_bit_s, Skipped)
    assert data.speed_bit_s.reason.startswith("veth reports no physical rate")
    assert data.shaper == Shaper(rate_bit_s=984395000.0, burst_bytes=32731)
    assert Address("10.9.0.1", 24) in data.addresses


def test_busybox_tells_the_same_in_text_form() -> None:
    full, small = interface("shaped-veth", "data0"), interface("busybox", "data0")
    assert small.mac == full.mac
    assert small.mtu_bytes == full.mtu_bytes
    assert small.addresses == full.addresses
    assert (small.carrier, small.operstate) == (True, "up")
    assert isinstance(small.shaper, Skipped)
    assert "unknown rate" in small.shaper.reason


def test_sys_of_another_namespace_is_not_believed() -> None:
    eth0 = interface("foreign-sys", "eth0")
    assert eth0.driver == "bridge"
    assert isinstance(eth0.numa_node, Skipped)
    assert "another network namespace" in eth0.numa_node.reason
    data0 = interface("foreign-sys", "data0")
    assert isinstance(data0.numa_node, Skipped)
    assert "has no data0" in data0.numa_node.reason


def test_a_lost_carrier_is_false_and_a_switched_off_interface_unknown() -> None:
    assert interface("carrier-lost", "data0").carrier is False
    assert isinstance(interface("switched-off", "data0").carrier, Skipped)


@pytest.mark.parametrize(
    ("speed", "expected"),
    [("25000", 25e9), ("100", 100e6), ("-1", None), ("0", None), ("65535", None)],
)
def test_a_drivers_speed_is_a_rate_only_when_it_is_known(
    speed: str, expected: float | None
) -> None:
    text = raw("virtio").replace("speed: -1", f"speed: {speed}")
    found = interface("virtio", "eth0", text).speed_bit_s
    if expected is None:
        assert isinstance(found, Skipped)
        assert "eth0" in found.reason
    else:
        assert found == expected


def test_a_missing_tc_is_a_reason_not_an_error() -> None:
    text = without(raw("shaped-veth"), "tc_json")
    shaper = interface("", "data0", text).shaper
    assert isinstance(shaper, Skipped)
    assert "no working tc" in shaper.reason


@pytest.mark.parametrize(
    ("case", "change"),
    [
        # As iproute2 5.3 prints a queue whose options it cannot print as JSON.
        ("shaped-veth", ('"options":{}', '"options":{limit 10000p flow_limit 100p }')),
        ("shaped-veth", ('"rate":123049375', '"rate":"fast"')),
        ("shaped-veth", ("== tc_json\n[", f"== tc_json\n[{'[' * 100_000}")),
        ("busybox", ("qdisc tbf 8082: dev", "qdisc tbf 8082: at")),
    ],
    ids=["options that are text", "a rate that is none", "deep", "of no interface"],
)
def test_queues_that_are_not_understood_are_a_reason_not_an_error(
    case: str, change: tuple[str, str]
) -> None:
    assert change[0] in raw(case)
    data = interface("", "data0", raw(case).replace(*change, 1))
    assert isinstance(data.shaper, Skipped)
    assert 'section "tc_' in data.shaper.reason
    assert data.addresses == interface(case, "data0").addresses


def test_what_a_login_shell_prints_first_is_left_out() -> None:
    banner = "Welcome to n1!\n== motd\n" + raw("shaped-veth")
    assert parse_probe("n1", banner) == parse_probe("n1", raw("shaped-veth"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("speed: 10000", "speed: fast"), ('section "sys data0"', "speed is 'fast'")),
        (("== end", ""), ("cut off",)),
        (('"mtu":9000', '"mtu":-9000'), ('section "ip_json"', "mtu")),
        (('"prefixlen":24', '"prefixlen":99'), ("not an address", "10.9.0.1")),
        (("== cpus\n2", "== cpus\nmany"), ('section "cpus"', "many")),
        (("== cpus\n2", "== cpus"), ("its cpus",)),
        (("== cpus\n2\n", ""), ("its cpus",)),
        (("== facts", "== facts\nno colon here"), ('section "facts"', "no colon here")),
        (("== ip_json", "== other"), ("no working ip",)),
        (("== facts", "== hostname\nn9\n== facts"), ("'hostname' comes twice",)),
    ],
)
def test_a_malformed_answer_names_node_section_and_cause(
    change: tuple[str, str], words: tuple[str, ...]
) -> None:
    assert change[0] in raw("shaped-veth")
    with pytest.raises(ProbeError) as caught:
        parse_probe("n1", raw("shaped-veth").replace(*change, 1))
    assert str(caught.value).startswith("n1: ")
    for word in words:
        assert word in str(caught.value)


def test_the_line_named_is_the_line_meant() -> None:
    text = raw("shaped-veth").replace("== facts\n", "== facts\nno colon here\n")
    number = text.split("\n").index("no colon here") + 1
    with pytest.raises(ProbeError, match=f"line {number} "):
        parse_probe("n1", text)


def test_an_answer_without_a_single_section_is_refused() -> None:
    with pytest.raises(ProbeError, match="its hostname"):
        parse_probe("n1", "== fabricgauge-probe 1\n== end\n")


@pytest.mark.parametrize("name", ["$(reboot)", "<script>alert(1)</script>", "'; rm -rf /; '", "-x"])
def test_hostile_names_are_data(name: str) -> None:
    text = raw("shaped-veth").replace("== hostname\nn1", f"== hostname\n{name}")
    assert parse_probe("n1", text).hostname == name


def test_of_two_token_buckets_the_slower_counts() -> None:
    second = "qdisc tbf 9: dev data0 rate 100Mbit burst 16365b lat 1ms\n== sys data0"
    text = raw("busybox").replace("(options for tbf)", "rate 10Gbit burst 1Mb lat 34ms")
    text = text.replace("== sys data0", second)
    assert interface("", "data0", text).shaper == Shaper(100e6, 16365)


def without(text: str, section: str) -> str:
    kept, dropping = [], False
    for line in text.split("\n"):
        if line.startswith("== "):
            dropping = line == f"== {section}"
        if not dropping:
            kept.append(line)
    return "\n".join(kept)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A recorded answer with a few pieces cut out, doubled, swapped or overwritten."""
    text = draw(st.sampled_from([raw(case) for case in CASES]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        noise = draw(st.one_of(st.just(""), st.just(text[start:end] * 2), st.text(max_size=12)))
        text = text[:start] + noise + text[end:]
    return text


@settings(deadline=None)
@given(mutated())
def test_a_damaged_answer_is_read_or_refused_but_never_crashes(text: str) -> None:
    try:
        node = parse_probe("n1", text)
    except ProbeError as error:
        assert str(error).startswith("n1: ")
    else:
        assert isinstance(node, Node)


@settings(deadline=None)
@given(st.sampled_from(CASES), st.integers(min_value=0))
def test_an_answer_that_was_cut_off_is_refused(case: str, length: int) -> None:
    text = raw(case)
    end = text.rindex("== end") + len("== end") - 1
    with pytest.raises(ProbeError):
        parse_probe("n1", text[: min(length, end)])


@settings(deadline=None)
@given(st.text())
def test_any_text_at_all_is_refused_cleanly(text: str) -> None:
    with pytest.raises(ProbeError):
        parse_probe("n1", text)
