"""Bundles: what is written is read back, and names of nodes are never paths."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.errors import StoreError
from fabricgauge.model.surveyed import BundleIndex
from fabricgauge.store.bundle import Bundle, BundleWriter, folder_name


def test_an_answer_is_read_back_unedited(tmp_path: Path) -> None:
    raw = "a\r\nb\x00c\n== standard error\n\x1b[2J"
    writer = BundleWriter(tmp_path / "b", BundleIndex(nodes=("c2", "c1")))
    writer.keep("c1", raw, "c1 did not finish")
    writer.close("not asked")
    bundle = Bundle(tmp_path / "b")
    assert bundle.nodes == ("c2", "c1")
    assert bundle.printouts("c1") == {"survey": raw}
    assert bundle.printouts("c2") == {}
    assert bundle.index.troubles == {"c1": "c1 did not finish", "c2": "not asked"}


def test_what_arrived_is_there_though_the_index_was_never_written(tmp_path: Path) -> None:
    BundleWriter(tmp_path / "b", BundleIndex(nodes=("c1", "c2"))).keep("c1", "x")
    bundle = Bundle(tmp_path / "b")
    assert (bundle.nodes, bundle.printouts("c1")) == (("c1",), {"survey": "x"})


def test_answers_that_only_root_could_read_are_its_alone(tmp_path: Path) -> None:
    """A survey holds what firewalls, sshd and RDMA counters tell only to root."""
    before = os.umask(0)
    try:
        writer = BundleWriter(tmp_path / "b", BundleIndex(nodes=("c1",)))
        writer.keep("c1", "secret")
        writer.close()
    finally:
        os.umask(before)
    modes = {one.stat().st_mode & 0o777 for one in (tmp_path / "b").rglob("*") if one.is_file()}
    assert modes == {0o600} and (tmp_path / "b").stat().st_mode & 0o777 == 0o700


def test_a_directory_that_holds_something_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(StoreError, match="not empty"):
        BundleWriter(tmp_path, BundleIndex())


@pytest.mark.parametrize(
    "node",
    ["../../etc", ".", "..", "a/b", "", "x" * 400, "c1\n", "~root", "-rf", "a%2Fb", "\udc80"],
)
def test_no_nodes_name_leads_out_of_the_bundle(tmp_path: Path, node: str) -> None:
    writer = BundleWriter(tmp_path / "b", BundleIndex(nodes=(node,)))
    writer.keep(node, "x")
    inside = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent.parent for path in inside] == [tmp_path / "b"]
    assert Bundle(tmp_path / "b").nodes != ()


def test_a_node_may_be_called_as_the_index_is(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path / "b", BundleIndex(nodes=("bundle.json",)))
    writer.keep("bundle.json", "x")
    writer.close()
    assert Bundle(tmp_path / "b").printouts("bundle.json") == {"survey": "x"}


@given(st.sets(st.text(max_size=40), max_size=8))
def test_names_that_differ_have_folders_that_differ(nodes: set[str]) -> None:
    folders = {folder_name(node) for node in nodes}
    assert len(folders) == len(nodes)
    assert not any("/" in name or name in ("", ".", "..") for name in folders)


def test_printouts_that_somebody_put_there_are_found_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "c1").mkdir()
    (tmp_path / "c1" / "lshw.txt").write_text("x")
    (tmp_path / "c1" / "ethtool-i-eth0.out").write_text("y")
    (tmp_path / "c1" / "photo.jpg").write_bytes(b"\xff")
    (tmp_path / "c1" / ".lshw.txt.swp").write_text("z")
    (tmp_path / "empty").mkdir()
    (tmp_path / "opainfo.txt").write_text("c1: z\n")
    bundle = Bundle(tmp_path)
    assert bundle.nodes == ("c1",)
    assert bundle.printouts("c1") == {"lshw": "x", "ethtool-i-eth0": "y"}
    assert bundle.shared == {"opainfo": "c1: z\n"}


def test_no_file_hides_behind_another_of_its_name(tmp_path: Path) -> None:
    for name in ("lshw", "lshw.txt", "lshw.json", "lshw.png"):
        (tmp_path / "c1").mkdir(exist_ok=True)
        (tmp_path / "c1" / name).write_text(name)
    assert sorted(Bundle(tmp_path).printouts("c1").values()) == ["lshw", "lshw.json", "lshw.txt"]


def test_no_node_hides_behind_another_whose_folder_reads_the_same(tmp_path: Path) -> None:
    for name in ("c1", "%631", "C1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "survey.txt").write_text(name)
    bundle = Bundle(tmp_path)
    assert sorted(bundle.printouts(node)["survey"] for node in bundle.nodes) == ["%631", "C1", "c1"]


@pytest.mark.parametrize("place", ["c1", "c1/lshw.txt", "opainfo.txt"])
def test_a_link_that_leads_out_of_the_bundle_is_refused(tmp_path: Path, place: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "lshw.txt").write_text("root:*:")
    link = tmp_path / "b" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(secret if place == "c1" else secret / "lshw.txt")
    with pytest.raises(StoreError, match="leads out of"):
        Bundle(tmp_path / "b").printouts("c1")


def test_a_link_inside_the_bundle_is_followed(tmp_path: Path) -> None:
    (tmp_path / "c1").mkdir()
    (tmp_path / "c1" / "lshw.txt").write_text("x")
    (tmp_path / "c2").symlink_to("c1")
    assert Bundle(tmp_path).printouts("c2") == {"lshw": "x"}


def test_names_that_are_no_utf_8_can_be_written_into_a_report(tmp_path: Path) -> None:
    (tmp_path / "n\udcff").mkdir()
    (tmp_path / "n\udcff" / "lshw\udcff.txt").write_text("x")
    bundle = Bundle(tmp_path)
    assert bundle.nodes == ("n\\xff",)
    assert bundle.printouts("n\\xff") == {"lshw\\xff": "x"}


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    import os

    (tmp_path / "c1").mkdir()
    os.mkfifo(tmp_path / "c1" / "lshw.txt")
    assert Bundle(tmp_path).nodes == ()


@pytest.mark.parametrize("text", ["", "{", '{"format": "other"}', "[1]", "\udc80"])
def test_a_damaged_index_is_told_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "bundle.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(StoreError, match=r"bundle\.json"):
        Bundle(tmp_path)


def test_a_bundle_of_a_later_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bundle.json").write_text('{"format": "fabricgauge-bundle", "version": "2.0"}')
    with pytest.raises(StoreError, match="version 2"):
        Bundle(tmp_path)


def test_a_directory_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        Bundle(tmp_path / "none")
