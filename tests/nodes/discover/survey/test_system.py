"""Facts of the system's own sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.nodes.discover.survey.system import parse_system

SYSTEMCTL = (
    "systemctl show -p Id",
    "Id=opafm.service\nLoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\n\n"
    "Id=opensm.service\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\n\n"
    "Id=irqbalance.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n\n"
    "Id=rdma.service\nLoadState=loaded\nActiveState=inactive\nUnitFileState=disabled",
)


@pytest.mark.parametrize(
    ("section", "text", "fact", "value"),
    [
        ("memory", "MemTotal:       24684096 kB\nMemFree: 1 kB", "memory bytes", "25276514304"),
        ("limits", "Max open files       1024     4096     files", "max open files", "1024"),
        ("shm", "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
         "tmpfs 65536 0 65536 0% /dev/shm", "/dev/shm bytes", "67108864"),
        ("os-release", 'NAME="x"\nPRETTY_NAME="Rocky Linux 8.6"', "os release", "Rocky Linux 8.6"),
        ("hosts", "2263738959 49", "hosts file", "2263738959 49"),
        ("iommu", "0\n1\n17", "iommu groups", "3"),
        ("machine", "kvm", "virtual machine", "kvm"),
        ("interface-settings", "./eth0.7/rp_filter:2", "net.ipv4.conf.eth0.7.rp_filter", "2"),
        ("ipoib", "./ib0/mode:datagram", "ipoib mode ib0", "datagram"),
        ("irqs eth0", "24/effective_affinity_list:0\n25/effective_affinity_list:1-2",
         "irqs of eth0", "2 on 3 processors"),
        ("module -t avail", "/opt/modules:\nopenmpi/4.1.6\nucx/1.16", "environment modules",
         "openmpi/4.1.6 ucx/1.16"),
        ("user", "1000", "user id", "1000"),
        (*SYSTEMCTL, "service opafm", "enabled inactive"),
        (*SYSTEMCTL, "service irqbalance", "active"),
        (*SYSTEMCTL, "service rdma", "inactive"),
    ],
)  # fmt: skip
def test_a_section_gives_its_fact(section: str, text: str, fact: str, value: str) -> None:
    assert parse_system({section: text}).facts[fact] == value


def test_a_unit_that_is_not_installed_and_bare_metal_are_no_facts() -> None:
    assert "service opensm" not in parse_system({SYSTEMCTL[0]: SYSTEMCTL[1]}).facts
    assert parse_system({"machine": "none"}).facts == {}


def test_the_iommus_type_is_that_of_each_interface_and_device() -> None:
    text = (
        "./net/eth0/device/iommu_group/type:DMA-FQ\n./net/x\n"
        "./infiniband/mlx5_0/device/iommu_group/type:identity"
    )
    assert parse_system({"iommu-types": text}).facts == {
        "iommu type of eth0": "DMA-FQ", "iommu type of mlx5_0": "identity",
    }  # fmt: skip


def test_modules_are_names_alone() -> None:
    text = "ib_core 499712 3 rdma_cm,ib_ipoib, Live 0x0\n$(reboot) 1 0 - Live 0x0\nhfi1 1 0 -"
    assert parse_system({"lsmod": text}).modules == ("hfi1", "ib_core")


@pytest.mark.parametrize(
    ("nft", "iptables", "told"),
    [
        ("table inet f {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;"
         "\n\t}\n}", "# read\n-P INPUT ACCEPT", "nft: input policy drop"),
        ("table inet f {\n\tchain filter_INPUT {\n\t\ttype filter hook input priority filter + 10; "
         "policy accept;\n\t\tct state established accept\n\t\treject with icmpx admin-prohibited"
         "\n\t}\n}", None, "nft: input ends in reject"),
        ("# read\n", "-P INPUT DROP\n-P FORWARD DROP", "iptables: INPUT DROP"),
        ("# read\n", "-P INPUT ACCEPT\n-A INPUT -p tcp -j ACCEPT\n"
         "-A INPUT -j REJECT --reject-with x", "iptables: INPUT ends in REJECT"),
        ("# nf_tables is not loaded", "# ip_tables is not loaded", "none"),
        ("# read\ntable ip x {\n\tchain out {\n\t\ttype filter hook output priority 0; policy drop;"
         "\n\t}\n}", "# read", "none"),
    ],
)  # fmt: skip
def test_a_firewall_that_shuts_the_node_is_told(nft: str, iptables: str | None, told: str) -> None:
    sections = {"nft": nft} if iptables is None else {"nft": nft, "iptables": iptables}
    assert parse_system(sections).facts["firewall"] == told


#: After the rules that firewalld 1.2 makes of `firewall-cmd --zone=trusted --add-interface=ib0`.
FIREWALLD = """table inet firewalld {
	chain filter_INPUT {
		type filter hook input priority filter + 10; policy accept;
		ct state { established, related } accept
		iifname "lo" accept
		jump filter_INPUT_ZONES
		jump mine
		reject with icmpx admin-prohibited
	}
	chain filter_FORWARD_IN_ZONES {
		iifname "eth9" goto filter_IN_trusted
	}
	chain filter_INPUT_ZONES {
		iifname "ib0" goto filter_IN_trusted
		iifname "eth0" goto filter_IN_public
	}
	chain filter_IN_public {
		ip saddr 10.9.0.0/16 accept
		reject with icmpx admin-prohibited
	}
	chain mine {
		ip saddr 10.1.0.0/16 counter packets 3 bytes 180 accept
		iifname { "eno1", "eno2" } accept
		iifname "eth7" tcp dport 22 accept
	}
	chain passing {
		type filter hook forward priority filter; policy accept;
		iifname "eth8" accept
	}
}"""


def test_what_a_firewall_lets_in_whole_is_told() -> None:
    facts = parse_system({"nft": FIREWALLD}).facts
    assert facts["firewall"] == "nft: input ends in reject"
    assert facts["firewall lets in"] == "lo ib0 10.9.0.0/16 10.1.0.0/16 eno1 eno2"
    rules = "-P INPUT DROP\n-A INPUT -i ib0 -j ACCEPT\n-A INPUT -i eth0 -p tcp -j ACCEPT"
    assert parse_system({"nft": "", "iptables": rules}).facts["firewall lets in"] == "ib0"


UNREAD = {
    ("# nft is not installed", "# iptables is not installed"): (
        "nft is not installed; iptables is not installed"
    ),
    ("# nft list ruleset failed", "# ip_tables is not loaded"): "nft list ruleset failed",
    ("# nft is not installed", "# ip_tables has no table"): "nft is not installed",
    ("# read\n", "# iptables -S failed"): "iptables -S failed",
    ("# read\n", None): "iptables was not asked",
}


@pytest.mark.parametrize(("sections", "why"), UNREAD.items())
def test_a_firewall_that_nobody_could_read_is_not_called_none(
    sections: tuple[str, str | None], why: str
) -> None:
    given = {name: text for name, text in zip(("nft", "iptables"), sections, strict=True) if text}
    facts = parse_system(given).facts
    assert "firewall" not in facts
    assert facts["firewall unread"] == why


def test_a_rule_that_looks_like_our_words_is_a_rule() -> None:
    rules = "# read\ntable inet f {\n\tchain input { # nft is not installed\n}}"
    facts = parse_system({"nft": rules, "iptables": "# ip_tables has no table"}).facts
    assert facts["firewall"] == "none"


NAMES = st.sampled_from(
    ["limits", "memory", "shm", "os-release", "hosts", "iommu", "machine", "interface-settings",
     "ipoib", "irqs e", "lsmod", "nft", "iptables", "systemctl show x", "module -t avail"]
)  # fmt: skip


@given(st.dictionaries(NAMES, st.text(max_size=200)))
def test_no_text_is_a_crash(sections: dict[str, str]) -> None:
    facts = parse_system(sections).facts
    assert all(isinstance(value, str) for value in facts.values())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023",
            "535.129.03",
        ),
        (
            "NVIDIA UNIX Open Kernel Module for x86_64  555.58.02  Release Build  (dvs-builder@h)",
            "555.58.02 open",
        ),
        ("NVIDIA UNIX Open Kernel Module for aarch64  TempVersion  Release Build", None),
    ],
)
def test_the_gpus_driver_says_whether_it_is_the_open_one(line: str, told: str | None) -> None:
    facts = parse_system({"nvidia-driver": f"NVRM version: {line}"}).facts
    assert facts.get("nvidia driver") == told
