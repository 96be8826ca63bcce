"""What is not understood is refused with file, line and what was expected; nothing hangs."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.logs.readers.topology.files import ALL, read, text_of

from fabricgauge.logs.readers.topology import LONGEST_NAME, MOST_LINES
from fabricgauge.model.errors import UsageError

IB = text_of("ibnetdiscover--fat-tree")
PORT = '[1]\t"H-0002c9030000c001"[1](2c9030000c0a1) \t\t# "cn1 mlx4_0" lid 11 4xFDR10'


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("leaf1 c[1-4]", 1, "leaf1: node"),
        ("leaf1: c[1-4]\nleaf2:", 2, "leaf1: node"),
        ("leaf1: c[1-4]\nleaf2: c[4-5]", 2, "'c4' is on line 1"),
        ("leaf1: c1\n\nleaf1: c2", 3, "'leaf1' is on line 1"),
        ("leaf1: c[1-4", 1, "bracket"),
        ("leaf1: c1]", 1, "bracket"),
        ("leaf1: c[1-x]", 1, "range"),
        ("leaf1: c[[1-2]]", 1, "bracket"),
        ("leaf1: c1,,c2", 1, "comma"),
        ("leaf1: c[1-2],", 1, "comma"),
        ("leaf1: ;rm", 1, "node set"),
        ("leaf1: c[0-999999999]", 1, "more than"),
        ("leaf1: c[0-9999][0-9999]", 1, "more than"),
        ("leaf1: c[0-99999999999999999999]", 1, "range"),
        ("\x1b[31mleaf: c1", 1, "name"),
        ("x" * (LONGEST_NAME + 1) + ": c1", 1, "name"),
        ("SwitchName=s1 Nodes=c[1-2]\nSwitchName=s2", 2, "neither"),
        ("SwitchName=s1 Nodes=c[1-2]\nSwitchName=s2 Switches=s[1,3]", 2, "'s3'"),
        ("SwitchName=s1 Nodes=c[1-2]\nSwitchName=s1 Nodes=c3", 2, "'s1' is on line 1"),
        ("SwitchName=s1 Nodes=c[1-2]\nSwitchName=s2 Nodes=c2", 2, "'c2' is on line 1"),
        ("SwitchName=s1 Nodes=c1\ninclude more.conf", 2, "not followed"),
        ("SwitchName=s1 Nodes=c1, c2", 1, "'c2'"),
        ('SwitchName="" Nodes=c1', 1, "name"),
        (f"caguid=0x1\n{PORT}", 2, "Switch or Ca line"),
        ('caguid=0x1\nCa\t2 "H-00', 2, "cut off"),
        ('Ca\t2 "S-0002c9030000c001"\t\t# "cn1 mlx4_0"', 1, "cut off"),
    ],
)
def test_an_error_names_file_line_and_expectation(text: str, line: int, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert str(caught.value).startswith(f"fabric.txt line {line}: ")
    assert expected in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n# nothing\n", "SwitchName=s1 Switches=s1\n"])
def test_a_file_without_nodes_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no nodes; expected"):
        read(text)


def test_a_file_of_more_lines_than_any_fabric_has_is_refused() -> None:
    with pytest.raises(UsageError, match="lines"):
        read("\n" * (MOST_LINES + 1))


def test_a_fabric_without_hosts_names_is_refused() -> None:
    text = IB.replace("cn", "MT25408 ConnectX ")
    with pytest.raises(UsageError, match="at least one host"):
        read(text)


def test_a_message_quotes_no_more_than_a_line_of_a_hostile_file() -> None:
    with pytest.raises(UsageError) as caught:
        read("leaf1 " + "x" * 1_000_000)
    assert len(str(caught.value)) < 300


def test_an_output_that_was_cut_off_is_refused_not_taken_for_a_smaller_fabric() -> None:
    lines = IB.split("\n")
    whole = read(IB)
    for end in range(1, len(lines) - 4):
        try:
            found = read("\n".join(lines[:end]))
        except UsageError:
            continue
        # What is missing then is only what a host's own record repeats.
        assert {group.nodes for group in found.groups} == {group.nodes for group in whole.groups}


def test_a_spine_with_a_host_of_its_own_stays_above_the_leaves() -> None:
    text = IB.replace("MT25408 ConnectX Mellanox Technologies", "sm1 mlx4_0")
    found = read(text)
    assert [(group.name, group.uplinks) for group in found.groups] == [
        ("leaf1", 4), ("leaf2", 4), ("spine2", 0),
    ]  # fmt: skip


def test_switches_of_a_ring_have_nobody_above_them() -> None:
    ring = ["switchguid=0x1"]
    for number in (1, 2, 3):
        after, before = number % 3 + 1, (number + 1) % 3 + 1
        ring += [
            f'Switch 8 "S-{number:016}" # "s{number}" base port 0 lid {number} lmc 0',
            f'[1] "H-{number + 10:016}"[1](1) # "n{number} mlx5_0" lid 9 4xEDR',
            f'[2] "S-{after:016}"[3] # "s{after}" lid 1 4xEDR',
            f'[3] "S-{before:016}"[2] # "s{before}" lid 1 4xEDR',
            f'Ca 1 "H-{number + 10:016}" # "n{number} mlx5_0"',
        ]
    assert {(group.parent, group.uplinks) for group in read("\n".join(ring)).groups} == {("", 0)}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(ALL), st.integers(0, 2**32))
def test_a_damaged_file_is_read_or_refused_but_never_a_crash(name: str, seed: int) -> None:
    text = list(text_of(name))
    chance = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(chance.randint(1, 6)):
        place = chance.randint(0, len(text))
        text[place : place + chance.randint(0, 40)] = chance.choice(
            ['"', "[", "]", "\n", "\0", "0", "S-", "# ", "=", ":", "é", ""]
        )
    try:
        found = read("".join(text))
    except UsageError as error:
        assert str(error).startswith("fabric.txt")
    else:
        nodes = [node for group in found.groups for node in group.nodes]
        assert len(nodes) == len(set(nodes)) > 0


@given(st.text(alphabet='SwitchName=Nodes[]0-9,: #\n"\\@H', max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert read(text).groups
    except UsageError as error:
        assert str(error).startswith("fabric.txt")
