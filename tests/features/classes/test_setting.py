"""A class is set by what its transport or MPI takes, and refused where there is no such setting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.classes.setting import (
    ClassSetting,
    TrafficClass,
    find_unheeded,
    parse_class,
    set_class,
)
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Member, Network
from fabricgauge.nodes.launch.transports import known_transport

TOS, LEVEL = TrafficClass("traffic-class", 184), TrafficClass("service-level", 3)


def make_network(technology: str, interface: str = "mlx5_0:1") -> Network:
    """Return a network of two nodes; with ports if the interface is one."""
    members = tuple(Member(node, interface, f"10.0.0.{place}", 1500)
                    for place, node in enumerate(("c1", "c2"), 1))  # fmt: skip
    return Network("net", "10.0.0.0/24", technology, 1e11, "stated", members)


@given(st.sampled_from(["traffic-class", "service-level"]), st.integers(-10, 300))
def test_each_number_in_range_is_a_class_and_no_other(kind: str, number: int) -> None:
    most = 255 if kind == "traffic-class" else 15
    text = f"{kind}={number}"
    if 0 <= number <= most:
        parsed = parse_class(text)
        assert (parsed.kind, parsed.number) == (kind, number)
    else:
        with pytest.raises(UsageError, match="is no class"):
            parse_class(text)


@pytest.mark.parametrize("text", ["", "EF", "dscp=46", "service-level=", "1.5", "٣", "0x10"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="traffic-class=184"):
        parse_class(text)


def test_a_bare_number_is_a_tos_byte() -> None:
    assert parse_class(" 184 ") == TOS


@pytest.mark.parametrize(
    ("transport", "wanted", "words"),
    [
        ("sockets", TOS, "sockets:traffic-class=184"),
        ("verbs", LEVEL, "verbs:service-level=3"),
        ("verbs:inline=0", TOS, "verbs:inline=0,traffic-class=184"),
    ],
)
def test_a_transport_takes_a_class_among_its_keys(
    transport: str, wanted: TrafficClass, words: str
) -> None:
    setting = set_class(wanted, transport, None)
    assert setting == ClassSetting(words)
    assert known_transport(setting.transport) == words


@pytest.mark.parametrize(
    ("technology", "wanted", "variables"),
    [
        ("infiniband", LEVEL, {"UCX_IB_SL": "3"}),
        ("roce-v2", TOS, {"UCX_IB_TRAFFIC_CLASS": "184"}),
        ("roce-v2", LEVEL, {"UCX_IB_SL": "3"}),
        ("omni-path", LEVEL, {"FI_OPX_SL": "3", "HFI_SL": "3"}),
    ],
)
def test_mpi_takes_a_class_by_the_variables_of_its_library(
    technology: str, wanted: TrafficClass, variables: dict[str, str]
) -> None:
    setting = set_class(wanted, "", make_network(technology))
    assert dict(setting.variables) == variables
    assert setting.libraries


@pytest.mark.parametrize(
    ("transport", "wanted", "technology", "reason"),
    [
        ("sockets", LEVEL, "", "--transport sockets has no service-level; it has traffic-class"),
        ("sockets:traffic-class=8", TOS, "", "once"),
        ("ofi:provider=tcp", TOS, "", "no known setting"),
        ("ofi", LEVEL, "", "no known setting"),
        ("", TOS, "infiniband", "no known setting of a traffic-class; it has service-level"),
        ("", TOS, "iwarp", "MPI on net (iwarp) has no known setting"),
        ("", LEVEL, "slingshot", "no known setting"),
    ],
)
def test_a_class_without_a_setting_is_refused_by_name(
    transport: str, wanted: TrafficClass, technology: str, reason: str
) -> None:
    network = make_network(technology) if technology else None
    with pytest.raises(UsageError) as refused:
        set_class(wanted, transport, network)
    assert reason in str(refused.value)


@pytest.mark.parametrize("network", [None, make_network("ethernet", "eth0")])
def test_mpi_over_tcp_is_refused_with_the_transport_that_can(network: Network | None) -> None:
    with pytest.raises(UsageError, match="--transport sockets"):
        set_class(TOS, "", network)


def test_a_launch_without_the_library_cannot_have_heeded_the_variable() -> None:
    setting = set_class(LEVEL, "", make_network("infiniband"))
    assert find_unheeded(setting, ("/usr/lib/libucp.so.0.0.0", "/usr/lib/libmpich.so.12")) == ""
    assert "libucp" in find_unheeded(setting, ("/usr/lib/libfabric.so.1",))
    assert find_unheeded(set_class(TOS, "sockets", None), ()) == ""


@pytest.mark.parametrize(
    ("provider", "name"), [("opx", "FI_OPX_SL"), ("psm2", "HFI_SL"), ("psm3", "PSM3_NIC_SL")]
)
def test_a_provider_takes_a_service_level_by_its_variable(provider: str, name: str) -> None:
    setting = set_class(LEVEL, f"ofi:provider={provider}", None)
    assert setting.variables == ((name, "3"),)
    assert setting.transport == f"ofi:provider={provider}"
