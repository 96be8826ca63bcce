"""Dumps of topology and graph, and XML that only looks like them."""

import pytest

from fabricgauge.logs.readers.nccl.dumps import LARGEST_BYTES, dump_of, is_dump

#: Elements and attributes as in src/test/ncv4/topo.xml of a public fork of NCCL, shortened, with
#: the adapter of a second node of the same format.
TOPOLOGY = b"""<system version="1">
  <cpu numaid="1" affinity="00ffffff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0001:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1">
        <nvlink target="0002:00:00.0" count="12" tclass="0x030200"/>
      </gpu>
    </pci>
    <nic>
      <net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x0" maxconn="65536" gdr="1"/>
      <net name="mlx5_1" dev="1" speed="200000" port="1" guid="0x1" maxconn="65536" gdr="0"/>
    </nic>
  </cpu>
</system>
"""
#: As in https://github.com/NVIDIA/nccl/issues/1406, shortened.
GRAPH = b"""<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="24" speedinter="24"
   latencyinter="0" typeintra="LOC" typeinter="PXB" samechannels="1">
    <channel><net dev="0"/><gpu dev="0"/><net dev="0"/></channel>
    <channel><net dev="3"/><gpu dev="0"/><net dev="3"/></channel>
  </graph>
  <graph id="2" pattern="3" crossnic="0" nchannels="0" speedintra="0" speedinter="0"
   typeintra="LOC" typeinter="LOC" samechannels="0"/>
</graphs>
"""


def test_a_topology_tells_gpus_adapters_numa_rates_and_links() -> None:
    gpu, *adapters = dump_of(TOPOLOGY, "t.xml").devices
    assert (gpu.kind, gpu.index, gpu.name, gpu.numa) == ("gpu", 0, "0001:00:00.0", 1)
    assert (gpu.direct, gpu.links, gpu.pcie) == (True, 12, "32.0 GT/s PCIe x16")
    assert [(one.name, one.index, one.rate_bit_s, one.direct) for one in adapters] == [
        ("mlx5_0", 0, 200e9, True), ("mlx5_1", 1, 200e9, False),
    ]  # fmt: skip


def test_a_graph_tells_channels_speeds_and_adapters() -> None:
    first, second = dump_of(GRAPH, "g.xml").graphs
    assert (first.channels, first.inter_bytes_per_s, first.adapters) == (2, 48e9, (0, 3))
    assert (first.intra, first.inter, second.channels) == ("LOC", "PXB", 0)


def test_both_are_told_by_their_first_element() -> None:
    assert is_dump(TOPOLOGY.decode()[:200])
    assert is_dump('<?xml version="1.0"?>\n' + GRAPH.decode()[:200])
    assert not is_dump("<html version=1>")
    assert not is_dump("# nThread 1")


ENTITY = b'<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><system version="1">&x;</system>'
BOMB = b'<!DOCTYPE s [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><system version="1">&b;</system>'


@pytest.mark.parametrize("content", [ENTITY, BOMB], ids=["external", "growing"])
def test_a_document_type_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"t\.xml:1: .*document type"):
        dump_of(content, "t.xml")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (TOPOLOGY[:300], r"t\.xml:\d+: "),
        (b'<system version="1">' + b"<a>" * 100, "deep"),
        (b" " * (LARGEST_BYTES + 1), "no more than"),
    ],
    ids=["cut off", "deep", "large"],
)
def test_what_is_no_dump_is_refused_with_its_place(content: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        dump_of(content, "t.xml")


def test_odd_attributes_are_nothing() -> None:
    text = TOPOLOGY.replace(b'speed="200000"', b'speed="fast"').replace(b'numaid="1"', b"")
    assert {(one.rate_bit_s, one.numa) for one in dump_of(text, "t.xml").devices} == {(0.0, -1)}
