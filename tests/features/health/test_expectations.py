"""The file of expectations: what is learned is read again, and mistakes are named."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.health.node import EXPECTED, build_node

from fabricgauge.features.health.expectations import (
    KEYS,
    Expectations,
    NodeClass,
    Part,
    Values,
    read_expectations,
    write_expectations,
)
from fabricgauge.features.health.learn import learn_expectations, parse_facts
from fabricgauge.features.health.script import ScriptSettings, write_script
from fabricgauge.model.errors import ProbeError, UsageError
from fabricgauge.store.files.toml import loads

FILE = "health.toml"


def facts(**changes: str) -> dict[Part, Values]:
    """Facts of a node with one port; ``changes`` replace values of the interface."""
    values = {"link": "up", "driver": "mlx5_core", "identity": "15b3:1017", "rate": "25000",
              "mtu": "9000"}  # fmt: skip
    return {("net", "eth0"): {**values, **changes}, ("node", "-"): {"memlock": "unlimited"}}


def test_like_nodes_are_one_class_with_the_values_of_most() -> None:
    nodes = {f"c{number}": facts() for number in range(1, 5)}
    nodes["c4"] = facts(rate="10000")
    known = learn_expectations(nodes)
    assert [row.nodes for row in known.classes] == ["c[1-4]"]
    assert known.classes[0].parts[("net", "eth0")]["rate"] == "25000"
    (remark,) = known.classes[0].remarks
    assert all(word in remark for word in ("CHECK THIS", "c4", "net eth0 rate", "10000", "25000"))


def test_an_older_generation_is_a_class_of_its_own() -> None:
    old = {f"o{number}": facts(identity="15b3:1013", rate="10000") for number in (1, 2)}
    known = learn_expectations({**{f"c{n}": facts() for n in range(4)}, **old})
    rates = {row.nodes: row.parts[("net", "eth0")]["rate"] for row in known.classes}
    assert rates == {"c[0-3]": "25000", "o[1-2]": "10000"}
    assert not any(row.remarks for row in known.classes)


def test_a_part_that_is_missing_or_down_on_one_node_is_expected_of_it() -> None:
    port: dict[Part, Values] = {("port", "mlx5_0:1"): {"link": "up", "rate": "100 Gb/sec (4X EDR)"}}
    nodes = {f"c{number}": {**facts(), **port} for number in range(1, 7)}
    nodes["c5"] = facts()
    nodes["c6"] = {**facts(link="down"), **port}
    known = learn_expectations(nodes)
    assert [row.nodes for row in known.classes] == ["c[1-6]"]
    parts = known.classes[0].parts
    assert parts[("net", "eth0")]["link"] == "up"
    assert ("port", "mlx5_0:1") in parts
    remarks = " ".join(known.classes[0].remarks)
    assert "c5: port mlx5_0:1: no such part" in remarks
    assert "c6: net eth0 link: down" in remarks


def test_nothing_is_expected_of_a_part_that_is_down() -> None:
    known = learn_expectations({"c1": facts(link="down"), "c2": facts(link="down")})
    assert ("net", "eth0") not in known.classes[0].parts
    assert known.classes[0].remarks == ("net eth0 is not up: nothing is expected of it.",)


def test_values_without_a_majority_are_not_expected() -> None:
    known = learn_expectations({"c1": facts(mtu="1500"), "c2": facts(mtu="9000")})
    assert "mtu" not in known.classes[0].parts[("net", "eth0")]


text = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=20)
name = st.text(st.sampled_from("abz019_.-\"'$*\\"), min_size=1, max_size=12)
classes = st.lists(
    st.builds(
        lambda net, port, gid, lock, count: {
            ("net", net): {"link": "up", "rate": str(count), "driver": port},
            ("port", f"{net}:1"): {"link": "up", "gid 3": gid},
            ("node", "-"): {"memlock": lock},
        },
        name, text, text, st.sampled_from(["unlimited", "65536"]), st.integers(1, 10**6),
    ),
    max_size=3,
)  # fmt: skip


@given(classes)
def test_a_written_file_is_read_as_it_was(parts: list[dict[Part, Values]]) -> None:
    known = Expectations(
        tuple(NodeClass(f"c{number}", values) for number, values in enumerate(parts))
    )
    written = write_expectations(known, ("learned\n[class]",))
    assert loads(written)["version"] == 1
    assert read_expectations(written, FILE) == known


@given(classes)
def test_no_name_or_value_is_code_to_a_shell(parts: list[dict[Part, Values]]) -> None:
    known = Expectations(
        tuple(NodeClass(f"c{number}", values) for number, values in enumerate(parts))
    )
    script = write_script(known, ScriptSettings()).partition("# fabricgauge: end")[0]
    shown = 'expect() { printf "%s\\n" "$@"; }\n'
    wanted = [
        word
        for number, values in enumerate(parts)
        for (kind, part), fields in values.items()
        for field, value in fields.items()
        for word in (kind, part, field, value)
    ]
    calls = "".join(f"expect_node c{number}\n" for number in range(len(parts)))
    done = subprocess.run(
        ["dash", "-c", f"{script}\n{shown}{calls}:"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:-1] == wanted
    assert done.stderr == ""


MISTAKES = [
    ("version = 2", "version 2"),
    ("versio = 1", "'versio'"),
    ("version = 1\n[class]\nnodes = 'c1'", "[[class]]"),
    ("version = 1\n[[class]]\n", "nodes = None"),
    ("version = 1\n[[class]]\nnodes = 'c[1-'", "c[1-"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[[class]]\nnodes = 'c[1-2]'", "class 2: c1"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.nets.eth0]", "'nets'"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.net.eth0]\nrate = 1", "'rate'"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.net.eth0]\nrate_mbit_s = 1.5", "1.5"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.net.eth0]\nrate_mbit_s = '010'", "'010'"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.net.eth0]\nlink = 'down'", "'down'"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.net.eth0]\ndriver = \"a\\nb\"", "a\\nb"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.port.mlx5_0]\nlink = 'up'", "'mlx5_0'"),
    ("version = 1\n[[class]]\nnodes = 'c1'\n[class.net.'../x']\nlink = 'up'", "'../x'"),
    ("version = 1\n[severity]\nspeed = 'fail'", "'speed'"),
    ("version = 1\n[severity]\nrate = 'drain'", "'drain'"),
    ("version = 1\n[limits.flap]\nwarn = 1", "'flap'"),
    ("version = 1\n[limits.flaps]\nfail = -1", "-1"),
    ("version = 1\n[limits.flaps]\nfatal = 1", "'fatal'"),
    ("version = ", "TOML"),
]


@pytest.mark.parametrize(("content", "words"), MISTAKES)
def test_a_mistake_is_named_with_its_file(content: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_expectations(content, FILE)
    assert FILE in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.parametrize("raw", ["", "fabricgauge-facts 1\nnet eth0 link up\n", "x\nend\n",
                                 "fabricgauge-facts 1\nnet eth0\nend\n"])  # fmt: skip
def test_facts_that_are_cut_off_are_refused(raw: str) -> None:
    with pytest.raises(ProbeError):
        parse_facts("c1", raw)


def test_facts_of_a_node_become_the_expectations_that_it_passes(tmp_path: Path) -> None:
    node = build_node(tmp_path)
    learned = learn_expectations({"n1": parse_facts("n1", node.check("--facts").text)})
    parts = learned.classes[0].parts
    expected = read_expectations(EXPECTED, FILE).classes[0].parts
    assert parts == expected
    assert node.check(expectations=learned).status == 0
    node.net("speed", 10000)
    assert node.check(expectations=learned).status == 1


def test_every_key_of_the_file_is_checked_by_the_script() -> None:
    script = write_script(None, ScriptSettings())
    for kind, fields in KEYS.items():
        for field in fields:
            assert f"    {field})" in script or f'"$2" = {field}' in script, (kind, field)


@pytest.mark.parametrize("content", [EXPECTED, pytest.param("", marks=pytest.mark.slow)])
def test_the_script_is_clean_to_shellcheck(content: str) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    known = read_expectations(content, FILE) if content else None
    done = subprocess.run(
        ["shellcheck", "-"], input=write_script(known, ScriptSettings("slurm", True)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
