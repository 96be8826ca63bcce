"""RoCE's traffic class and priorities: which port is unlike the others, and which is not lossless.

The answers are written, not recorded: after dcb-pfc(8) and dcb-app(8) of iproute2 6.1, Linux 6.12
(cma_configfs.c) and the format of tc/1/traffic_class of NVIDIA's driver.
"""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import rdma_nodes as nodes
from tests.rdma_nodes import Card, answer

from fabricgauge.doctor.examining import examine
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Checked, Finding, Severity
from fabricgauge.model.preflight import Preflight
from fabricgauge.nodes.discover.interface import parse_fabric
from fabricgauge.nodes.discover.printouts.parsing import parse_pairs
from fabricgauge.nodes.discover.probe import read_script
from fabricgauge.nodes.discover.survey.sysfs import parse_priorities

RAILS = (
    nodes.ROCE[0],
    nodes.ROCE[0]._replace(device="mlx5_1", interface="ens2f0np0"),
)


def pfc(*lossless: int) -> str:
    states = (f"{one}:{'on' if one in lossless else 'off'}" for one in range(8))
    return f"prio-pfc: {' '.join(states)}"


GLOBAL, UNSET, TOS = "traffic_class: Global tclass=106", "traffic_class: unset", "default_roce_tos"
SOUND = f"{GLOBAL}\n{pfc(3)}"


def checked(*each: str, cards: tuple[Card, ...] = nodes.ROCE) -> Checked:
    """What the check says of a node for each text; ports are told of in texts cut at ``|``."""
    raw = {}
    for number, text in enumerate(each, 1):
        raw[f"c{number}"] = answer(number, cards)
        for card, told in zip(cards, text.split("|"), strict=True):
            head = f"== rdma-port 1 {card.device}\n"
            raw[f"c{number}"] = raw[f"c{number}"].replace(head, f"{head}{told}\n")
    (one,) = examine(Preflight(parse_fabric(raw, tuple(raw), (), virtual=False), ()), {"priority"})
    return one


def findings(*each: str, cards: tuple[Card, ...] = nodes.ROCE) -> tuple[Finding, ...]:
    return checked(*each, cards=cards).findings


def test_ports_with_one_traffic_class_of_a_lossless_priority_are_sound() -> None:
    assert checked(SOUND, SOUND) == checked(f"{SOUND}\n{TOS}: 106", SOUND)
    assert checked(SOUND, SOUND).skipped is None and not findings(SOUND, SOUND)


def test_nothing_is_said_where_nothing_is_known() -> None:
    found = checked("x: y", "x: y")
    assert isinstance(found.skipped, Skipped) and "traffic class" in found.skipped.reason
    assert not checked(SOUND, SOUND, cards=nodes.HDR).findings
    assert checked(SOUND, UNSET, cards=nodes.HDR).skipped


@pytest.mark.parametrize(
    ("usual", "odd", "what"),
    [
        (GLOBAL, UNSET, "has traffic class unset, the other ports have 106"),
        (
            GLOBAL,
            "traffic_class: Global tclass=98",
            "has traffic class 98, the other ports have 106",
        ),
        (f"{TOS}: 106", f"{TOS}: 0", "has default TOS of rdma_cm 0, the other ports have 106"),
        (pfc(3), pfc(), "has priorities with PFC none, the other ports have 3"),
        (pfc(3), pfc(3, 4), "has priorities with PFC 3 and 4, the other ports have 3"),
    ],
)
def test_a_port_unlike_most_is_named_with_both_values(usual: str, odd: str, what: str) -> None:
    (found,) = findings(usual, odd, usual)
    assert (found.severity, found.where, found.nodes) == (Severity.WARN, "c2:mlx5_0:1", ("c2",))
    assert (found.what, found.network) == (what, "roce")
    assert "at boot" in found.remedy and len(found.evidence) == 2


def test_two_ports_that_differ_are_both_named() -> None:
    (found,) = findings(GLOBAL, UNSET)
    assert found.what.endswith("traffic class: 106; unset")
    assert found.nodes == ("c1", "c2")


def test_a_port_that_does_not_tell_is_not_named() -> None:
    assert not findings(GLOBAL, "x: y", GLOBAL)


@pytest.mark.parametrize(
    ("told", "priority"),
    [
        (f"{GLOBAL}\n{pfc(4)}", "3"),
        (f"{GLOBAL}\n{pfc(4)}\ndscp-prio: 0:0 26:5", "5"),
        (f"{GLOBAL}\n{pfc(4)}\ndscp-prio: 26:5 26:6", "5 and 6"),
    ],
)
def test_a_traffic_class_that_is_not_lossless_is_told_with_the_sum(
    told: str, priority: str
) -> None:
    (found,) = findings(told, told)
    assert (found.severity, found.nodes) == (Severity.WARN, ("c1", "c2"))
    assert f"traffic class 106 → DSCP 26 → priority {priority} without PFC" in found.what
    assert "priority 4 has PFC" in found.what
    assert "prio-pfc PRIORITY:on" in found.remedy


@pytest.mark.parametrize(
    "told",
    [
        f"{GLOBAL}\n{pfc(4)}\ndscp-prio: 26:4",
        f"{GLOBAL}\n{pfc(4)}\ndscp-prio: 26:3 26:4",
        f"{GLOBAL}\n{pfc(4)}\ndscp-prio: 24:3",
        f"{GLOBAL}\n{pfc()}",
        f"{UNSET}\n{pfc(4)}",
        GLOBAL,
    ],
)
def test_a_priority_that_is_lossless_or_not_known_is_no_fault(told: str) -> None:
    assert not findings(told, told)


def test_rails_may_be_set_up_for_different_things() -> None:
    both = f"{SOUND}|traffic_class: Global tclass=136\n{pfc(4)}"
    assert not findings(both, both, both, cards=RAILS)
    (found,) = findings(both, both, both.replace("136", "140"), cards=RAILS)
    assert (found.where, found.network) == ("c3:mlx5_1:1", "roce-rail2")


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 7)), min_size=2, max_size=5))
def test_every_port_that_is_not_lossless_is_named_once(each: list[tuple[int, int]]) -> None:
    told = [f"traffic_class: Global tclass={sent}\n{pfc(one)}" for sent, one in each]
    named = [node for one in findings(*told) if "→" in one.what for node in one.nodes]
    lossy = {f"c{number}" for number, (sent, one) in enumerate(each, 1) if sent >> 5 != one}
    assert len(named) == len(set(named)) and set(named) == lossy


@given(
    st.integers(0, 255),
    st.sets(st.integers(0, 7)),
    st.lists(st.tuples(st.integers(0, 63), st.integers(0, 7)), max_size=70),
)
def test_what_is_written_is_read(
    sent: int, lossless: set[int], mapped: list[tuple[int, int]]
) -> None:
    table = " ".join(f"{dscp}:{to}" for dscp, to in mapped)
    text = f"traffic_class: Global tclass={sent}\n{pfc(*lossless)}\ndscp-prio: {table} "
    found = parse_priorities(parse_pairs(text), "p")
    assert (found.traffic_class, found.pfc) == (sent, tuple(sorted(lossless)))
    assert found.mapped == tuple(mapped)


KEYS = ("traffic_class", "default_roce_tos", "prio-pfc", "dscp-prio")


@given(st.dictionaries(st.sampled_from(KEYS), st.text() | st.from_regex(r"[0-9:onf =]{0,12}")))
def test_any_text_is_read_within_bounds_or_not_known(values: dict[str, str]) -> None:
    found = parse_priorities(values, "p")
    for number in (found.traffic_class, found.cm_tos):
        assert number == "unset" or isinstance(number, Skipped) or 0 <= int(number) <= 255
    assert isinstance(found.pfc, Skipped) or set(found.pfc) <= set(range(8))
    assert all(0 <= dscp <= 63 and 0 <= to <= 7 for dscp, to in found.mapped)


DCB = """#!/bin/sh
case "$*" in
"-N pfc show dev ens1f0np0")
    echo "pfc-cap 8 macsec-bypass off delay 0 "
    echo "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off " ;;
"-N app show dev ens1f0np0") echo "dscp-prio 0:0 24:2 24:3 48:6 " ;;
*) echo "not asked for: $*" ;;
esac
"""


@pytest.mark.parametrize(
    ("kind", "layer", "word", "told"),
    [
        ("1: CA", "Ethernet", "Global tclass=106\n", 106),
        ("1: CA", "Ethernet", "", "unset"),
        ("4: RNIC", "Ethernet", "", None),
        ("1: CA", "InfiniBand", "", None),
    ],
)
def test_the_quick_probe_asks_roce_ports_alone(
    tmp_path: Path, kind: str, layer: str, word: str, told: int | str | None
) -> None:
    device = tmp_path / "class/infiniband/mlx5_0"
    files = {
        device / "node_type": kind, device / "tc/1/traffic_class": word,
        device / "ports/1/link_layer": layer, device / "ports/1/state": "4: ACTIVE",
        device / "ports/1/gid_attrs/ndevs/0": "ens1f0np0\n",
        tmp_path / "kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos": "105\n",
        tmp_path / "bin/dcb": DCB,
    }  # fmt: skip
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "bin/dcb").chmod(0o755)
    script = read_script().replace("/sys/", f"{tmp_path}/")
    script = script.replace("PATH=$PATH", f"PATH={tmp_path}/bin:$PATH")
    done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, timeout=30)
    section = done.stdout.split("== rdma-port 1 mlx5_0\n")[1].split("\n== ")[0]
    found = parse_priorities(parse_pairs(section), "p")
    if told is None:
        assert not set(KEYS) & set(parse_pairs(section))
    else:
        assert (found.traffic_class, found.cm_tos, found.pfc) == (told, 105, (3,))
        assert found.mapped == ((0, 0), (24, 2), (24, 3), (48, 6))
