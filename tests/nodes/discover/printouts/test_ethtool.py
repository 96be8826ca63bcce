import pytest
from tests.nodes.discover.printouts.reading import only_adapter, parse, read

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import LinkModes
from fabricgauge.nodes.discover.printouts.parsing import Parts


def test_what_a_port_can_offers_and_hears_is_told_apart() -> None:
    parts = read("ethtool", "6.1--25g")
    adapter = only_adapter(parts)
    assert adapter.interfaces == ("ens3f0",)
    assert adapter.modes == LinkModes((1e9, 10e9, 25e9), (10e9, 25e9), (1e9, 10e9), True, "full")
    assert parts.facts == {
        "speed of ens3f0": "10000000000", "link of ens3f0": "yes",
        "port of ens3f0": "Direct Attach Copper",
    }  # fmt: skip


def test_a_port_without_a_cable_says_why() -> None:
    parts = read("ethtool", "6.1--40g-down")
    modes = only_adapter(parts).modes
    assert isinstance(modes, LinkModes)
    assert (modes.supported_bit_s, modes.partner_bit_s) == ((40e9,), ())
    assert modes.autonegotiation is False
    assert isinstance(modes.duplex, Skipped)
    assert parts.facts["link of enp97s0"] == "no"
    assert parts.facts["link reason of enp97s0"] == "No cable"
    assert "speed of enp97s0" not in parts.facts


def test_json_says_what_the_text_says() -> None:
    parts = read("ethtool", "6.10--json")
    assert only_adapter(parts).modes == LinkModes(
        (10e6, 100e6, 1e9), (100e6, 1e9), (10e6, 100e6), True, "full"
    )
    assert parts.facts["speed of enp2s0"] == "100000000"


@pytest.mark.parametrize("case", ["6.1--virtio", "6.1--veth", "6.1--lo"])
def test_an_interface_that_reports_no_modes_is_no_adapter(case: str) -> None:
    parts = read("ethtool", case)
    assert parts.adapters == ()
    assert parts.facts


def test_the_driver_is_that_of_the_interface_in_the_argument() -> None:
    adapter = only_adapter(read("ethtool", "6.1--i-virtio", "-i eth0"))
    assert (adapter.bus, adapter.interfaces) == ("0000:00:03.0", ("eth0",))
    assert (adapter.driver, adapter.driver_version) == ("virtio_net", "1.0.0")
    assert isinstance(adapter.firmware, Skipped)
    assert only_adapter(read("ethtool", "6.1--i-virtio")).interfaces == ()


def test_ip_over_infiniband_is_infiniband() -> None:
    adapter = only_adapter(read("ethtool", "6.1--i-ipoib", "-i ib0"))
    assert (adapter.kind, adapter.bus) == ("infiniband", "0000:3b:00.0")


@pytest.mark.parametrize("case", ["6.1--i-veth", "6.1--k-virtio"])
def test_what_is_no_adapter_and_what_others_read_gives_nothing(case: str) -> None:
    assert read("ethtool", case, "-i v0") == Parts()


@pytest.mark.parametrize(
    ("case", "pause"),
    [
        ("6.1--a", {"pause enp97s0": "rx on tx off"}),
        ("6.1--a-json", {"pause enp97s0": "rx on tx on"}),
        ("4.8--a", {"pause ib0": "rx off tx off"}),
    ],
)
def test_pause_is_what_both_ends_agreed_on(case: str, pause: dict[str, str]) -> None:
    assert read("ethtool", case).facts == pause


def test_a_message_before_the_settings_does_not_hide_them() -> None:
    text = "netlink error: Operation not permitted\nSettings for e0:\n\tSpeed: 200000Mb/s\n"
    assert parse("ethtool", text).facts == {"speed of e0": "200000000000"}


@pytest.mark.parametrize("speed", ["Unknown!", "-1", "1e3Mb/s", "99999999999999999Mb/s", ""])
def test_a_speed_that_is_none_is_no_fact(speed: str) -> None:
    assert parse("ethtool", f"Settings for e0:\n\tSpeed: {speed}\n").facts == {}
