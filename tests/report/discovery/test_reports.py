"""A survey as text, HTML and JSON."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from tests.report.discovery import sample
from tests.report.html.test_page import Page

from fabricgauge.model.fabric import Node, Unreached
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.nodes.discover.printouts.parsing import make_port
from fabricgauge.report.content.discovery import KIND, unreached
from fabricgauge.report.content.inventory import port as port_in_words
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

FORMATS = formats_of(KIND)
SNAPSHOT = Path(__file__).parent.parent / "snapshots" / "discovery.txt"


def text(verbose: bool = False, hostile: bool = False) -> str:
    return FORMATS["terminal"](sample.surveyed(hostile), Setting(width=200, verbose=verbose))


def test_the_page_of_text_is_that_of_the_snapshot() -> None:
    assert text() == SNAPSHOT.read_text("utf-8")


def test_verbose_shows_every_node_with_its_facts() -> None:
    assert "net.ipv4.tcp_timestamps: 1" not in text().partition("network ")[2]
    for number in range(1, 8):
        assert f"\n  c{number}: 64 processors, Linux 5.14.0\n" in text(verbose=True)
    assert "    mlx5_0 to GPU 1: SYS\n" in text(verbose=True)


def test_the_page_of_text_has_no_sign_that_a_terminal_obeys() -> None:
    assert re.search(r"[^\n\x20-\x7e\u00a0-\U0010ffff]", text(verbose=True, hostile=True)) is None
    assert "$(id)" in text(hostile=True)


@pytest.mark.parametrize("hostile", [False, True])
def test_the_html_page_holds_no_tag_of_the_data_and_no_script(hostile: bool) -> None:
    html = FORMATS["html"](sample.surveyed(hostile), Setting())
    page = Page(html)
    assert page.scripts == []
    attributes = {name for _, found in page.tags for name in found}
    assert not any(name.startswith("on") for name in attributes)
    assert "script-src" not in html
    assert "\x1b" not in html
    assert ("&lt;b onload=" in html) is hostile


def test_the_html_page_shows_who_is_odd_and_who_is_near_to_whom() -> None:
    html = FORMATS["html"](sample.surveyed(), Setting())
    assert "1 DIFFERENT" not in html  # a node was lost: that comes first
    assert "INCOMPLETE" in html
    assert "firmware of XL710" in html
    assert "<td><b>mlx5_0</b></td><td>0</td><td>PIX</td><td>SYS</td>" in html
    assert "<td><b>enp97s0</b></td><td>1</td><td>SYS</td><td>same NUMA node</td>" in html
    assert "PCIe 3.0 x8" in html


def test_the_html_page_of_a_host_of_containers_stays_small() -> None:
    one = sample.inventory(1)
    assert isinstance(one.node, Node)
    veths = tuple(
        msgspec.structs.replace(one.node.interfaces[0], name=f"veth{number}", addresses=())
        for number in range(600)
    )
    full = msgspec.structs.replace(one.node, interfaces=(*veths, *one.node.interfaces))
    settings = {f"net.ipv4.conf.{veth.name}.rp_filter": "2" for veth in veths}
    settings["net.ipv4.conf.enp97s0.rp_filter"] = "1"
    found = msgspec.structs.replace(one, node=full, facts=settings)
    surveyed = msgspec.structs.replace(sample.surveyed(), inventories=(found,))
    html = FORMATS["html"](surveyed, Setting())
    assert "569 more interfaces are in the JSON report" in html
    assert "net.ipv4.conf.enp97s0.rp_filter" in html
    assert len(html) < 60_000


def test_the_json_document_is_read_back_as_it_was() -> None:
    surveyed = sample.surveyed(hostile=True)
    written = FORMATS["json"](surveyed, Setting())
    assert json.loads(written)["format"] == "fabricgauge-discovery"
    document = json.loads(written)
    for name, field in (("nodes", "inventories"), ("classes", "classes"), ("ceilings", "ceilings")):
        read = msgspec.convert(document[name], type=Surveyed.__annotations__[field])
        assert read == getattr(surveyed, field)


def test_nodes_of_which_the_same_is_said_are_named_together() -> None:
    lost = [
        *(Unreached(f"c{n}", f"c{n} could not be reached: connect to c{n}: no") for n in (1, 2, 3)),
        Unreached("c4", "c4 did not finish"),
        Unreached("c", "c1 is not c"),
    ]
    assert list(unreached(lost)) == [
        ("c[1-3]", "could not be reached: connect to NODE: no"),
        ("c4", "did not finish"),
        ("c", "c1 is not c"),
    ]


def test_a_lid_is_shown_only_where_there_are_such() -> None:
    port = msgspec.structs.replace(
        make_port("x", "mlx5_0", 1), protocol="infiniband", lid=7, lanes=1
    )
    assert port_in_words(port) == "mlx5_0:1: infiniband, 1 lane, LID 7"
    assert "LID" not in port_in_words(msgspec.structs.replace(port, protocol="roce", lid=0))


def test_a_page_without_gpus_speaks_of_none() -> None:
    with_gpus = sample.surveyed()
    bare = tuple(
        msgspec.structs.replace(one, gpus=(), nearness=()) for one in with_gpus.inventories
    )
    html = FORMATS["html"](sample.concluded(bare), Setting())
    assert "Adapters, sockets</h2>" in html
    assert "Distances between adapter and GPU" not in html
    assert "Distances between adapter and GPU" in FORMATS["html"](with_gpus, Setting())


def test_a_limit_that_all_nodes_share_is_in_the_headline_and_unread_files_are_listed() -> None:
    whole = sample.surveyed()
    fabric = msgspec.structs.replace(whole.fabric, unreached=())
    like = tuple(msgspec.structs.replace(one, oddities=()) for one in whole.classes)
    narrow = Finding(
        "pcie",
        Severity.FAIL,
        "c1:eth0",
        "runs at 16 GT/s x8",
        ("c1", "carries 110 Gb/s"),
        "w.",
        "r",
    )
    told = msgspec.structs.replace(
        whole, fabric=fabric, classes=like, limits=(narrow,), unread=("notes: no printout",)
    )
    page = FORMATS["terminal"](told, Setting(width=200))
    assert page.startswith(" LIMITED ")
    assert "c1:eth0: runs at 16 GT/s x8; carries 110 Gb/s" in page
    assert "notes: no printout" in page
