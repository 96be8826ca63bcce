import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nodes.discover.printouts.reading import raw

from fabricgauge.nodes.discover.printouts.parsing import Parts
from fabricgauge.nodes.discover.printouts.table import (
    PARSERS,
    PrintoutName,
    parse_named,
    recognise_name,
)


@pytest.mark.parametrize(
    ("name", "tool", "argument"),
    [
        ("lshw -class network", "lshw", "-class network"),
        ("lshw-class-network.txt", "lshw", "class-network"),
        ("lshw-class-network-json.txt", "lshw", "class-network-json"),
        ("ethtool eth0", "ethtool", "eth0"),
        ("ethtool -i eth0", "ethtool", "-i eth0"),
        ("ethtool-eth0.txt", "ethtool", "eth0"),
        ("ethtool-i-eth0.txt", "ethtool", "-i eth0"),
        ("ethtool_-i_br-lan.100", "ethtool", "-i br-lan.100"),
        ("host/c1/ethtool--json-eth0.json", "ethtool", "-json eth0"),
        ("qcu64e", "qcu64e", ""),
        ("./QCU/Linux_x64/qcu64e /NIC=1 /INFO", "qcu64e", "/NIC=1 /INFO"),
        ("opainfo.txt", "opainfo", ""),
        ("ibstat.txt", "ibstat", ""),
        ("ibstat_-l-nodevice.txt", "ibstat", "-l nodevice"),
        ("ibstatus-nodevice.txt", "ibstatus", "nodevice"),
        ("rdma_-j_link-nodevice.txt", "rdma link", "-j link-nodevice"),
        ("rdma -j link", "rdma link", "-j link"),
        ("rdma-dev-j.txt", "rdma dev", "dev-j"),
        ("ip -j route", "ip route", "-j route"),
        ("ip-route.txt", "ip route", "route"),
        ("/sbin/ip -6 -j route show", "ip route", "-6 -j route show"),
        ("nvidia-smi topo -m", "nvidia-smi", "topo -m"),
        ("nvidia-smi-topo-m.txt", "nvidia-smi", "topo-m"),
        ("rocm-smi --showtopo", "rocm-smi", "--showtopo"),
        ("fi_info-l.txt", "fi_info", "l"),
        ("ucx_info-d.txt", "ucx_info", "d"),
        ("mpiexec.hydra --version", "mpiexec.hydra", "--version"),
        ("mpirun.openmpi --version", "mpirun", "--version"),
        ("lspci -D -vv", "lspci", "-D -vv"),
    ],
)
def test_a_parser_is_found_by_a_files_or_a_sections_name(
    name: str, tool: str, argument: str
) -> None:
    assert recognise_name(name) == PrintoutName(tool, argument)


@pytest.mark.parametrize(
    "name",
    ["", " ", "ip -j neigh", "ip-maddr.txt", "iperf3-J.txt", "ethtools", "lspcix.txt", "facts",
     "rdma system", "ipmitool route", ".txt", "-", "notlshw.txt"],
)  # fmt: skip
def test_what_no_row_reads_is_left_alone(name: str) -> None:
    assert recognise_name(name) is None
    assert parse_named(name, "x") is None


def test_the_interface_of_a_files_name_reaches_the_parser() -> None:
    parts = parse_named("c1/ethtool-i-eth0.txt", raw("ethtool", "6.1--i-virtio"))
    assert parts is not None
    assert parts.adapters[0].interfaces == ("eth0",)


def test_the_argument_reaches_qcu() -> None:
    parts = parse_named("./qcu64e /NIC=2 /INFO", raw("qcu", "guide--1x40"))
    assert parts is not None
    assert "/NIC=2" in str(parts.adapters[0].bus)


@given(st.text(), st.text())
def test_no_name_and_no_text_raises(name: str, text: str) -> None:
    for known in ("", *PARSERS):
        found = parse_named(known + name, text)
        assert found is None or isinstance(found, Parts)
