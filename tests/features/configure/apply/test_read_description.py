"""Description files: what they may say, and what is said of those that may not."""

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.docs.pages import ROOT, fences
from tests.features.configure.apply import guide

from fabricgauge.features.configure.apply.read_description import (
    MAX_FILE_BYTES,
    description_of,
    read_file,
)
from fabricgauge.features.configure.description import Description, Match
from fabricgauge.features.configure.ports import addresses_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError

SHORT = '[[network]]\nname = "n"\nsubnet = "10.0.0.0/24"\n'


def read(tmp_path: Path, text: str, nodes: tuple[str, ...] = ("c1", "c2")) -> Description:
    path = guide.description(tmp_path, text)
    return description_of(str(path), read_file(path), nodes)


def test_the_guides_network_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, guide.NET40, ())
    (network,) = found.networks
    assert (found.backend, network.nodes) == ("xcat", ("c1", "c2"))
    assert (network.rate_bit_s, network.match) == (40e9, Match(product="XL710"))
    assert isinstance(network.mtu_bytes, Skipped) and isinstance(found.image, Skipped)


def test_values_may_be_by_node_or_node_set(tmp_path: Path) -> None:
    text = SHORT + 'interface = { "c[1-3]" = "a", c4 = "b" }\nnodes = "c[1-4]"\n'
    (network,) = read(tmp_path, text, ()).networks
    assert network.interfaces == {"c1": "a", "c2": "a", "c3": "a", "c4": "b"}
    (network,) = read(tmp_path, SHORT + 'interface = "ib0"\n').networks
    assert network.interfaces == {"c1": "ib0", "c2": "ib0"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = ", "is not TOML"),
        ("", "no network; write [[network]]"),
        ("nets = 1", "the file has an unknown key nets; is nodes meant?"),
        (SHORT + "mtu = '9000'", "network 1 (n).mtu is a text in quotes; expected a whole number"),
        (SHORT + "sufix = '-x'", "network 1 (n) has an unknown key sufix; is suffix meant?"),
        (SHORT + "adapter = { drivr = 'x' }", "network 1 (n).adapter has an unknown key drivr; is"),
        (SHORT + "[[network]]\nname = 'm'", "network 2 (m) has no subnet, which is required"),
        (
            SHORT + "interface = 7",
            "interface is a whole number; expected a text in quotes or a tab",
        ),
        (SHORT + "addresses = { 'c.1' = 7 }", "addresses is a whole number; expected a text in qu"),
        (
            SHORT + "[image]\nroot = '/i'\nmounts = [{ source = 'a' }]",
            "image.mounts 1 has no target",
        ),
        (
            SHORT + "[image]\nroot = '/i'\nmounts = [{ source = 'a', target = '/b', kind = 'x' }]",
            "image.mounts 1 has an unknown key kind; the keys are options, source, target, type",
        ),
        (
            SHORT + "[export]\npath = '/o'\nfsid = 'x'",
            "export.fsid is a text in quotes; expected a",
        ),
        (SHORT + "mtu = 100", "network 1 (n).mtu is 100; expected 576 to 65520 bytes"),
        (SHORT + "rate = 'fast'", "network n.rate: 'fast' is not a link rate"),
        (SHORT + "kind = 'token-ring'", "expected ethernet, infiniband, omni-path"),
        (SHORT + "suffix = ' x'", "network 1 (n).suffix is ' x'; expected letters"),
        (SHORT + "interface = 'a/b'", "expected an interface's name"),
        (SHORT + "lane_mode = '40'", "expected 1x40 or 4x10"),
        (SHORT + "nodes = 'c[1-'", "network n.nodes: "),
        (SHORT + SHORT, "two networks have the name n"),
        (SHORT.replace('"n"', '"../n"'), "network 1 (../n).name is '../n'"),
        (SHORT + "[image]\nroot = 'img'", "image.root is 'img'; expected an absolute path"),
        (SHORT + "[image]\nroot = '/'", "image.root is '/'; expected an image's directory"),
        (SHORT + "[image]\nroot = '/./'", "image.root is '/./'"),
        (SHORT + "[image]\nroot = '/i/../..'", "image.root is '/i/../..'"),
        (SHORT + "[image]\nroot = '/i'\npackages = ['-x']", "image.packages 1 is '-x'"),
        (SHORT + "[head]\nmemlock = 'lots'", "expected unlimited, or a number of KiB"),
        (SHORT + "[export]\npath = '/o'\nfsid = 0", "export.fsid is 0; expected a number from 1"),
        (SHORT + "[export]\npath = '/o'\noptions = ['ro, rw']", "expected one word"),
        (SHORT + "[[services]]\nenable = ['a b']", "services 1.enable 1 is 'a b'"),
        ("management = 'x'\n" + SHORT, "management: "),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert words in str(error.value)
    assert str(tmp_path / "net.toml") in str(error.value)


def test_what_is_no_text_of_that_size_is_not_read_to_its_end(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read /dev/zero: it is a device"):
        read_file(Path("/dev/zero"))
    with (tmp_path / "long").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match=r"long: it is longer than 4\.2 MB"):
        read_file(tmp_path / "long")
    with pytest.raises(UsageError, match="it is a directory"):
        read_file(tmp_path)
    deep = guide.description(tmp_path, "x = " + "[" * (MAX_FILE_BYTES // 2))
    with pytest.raises(UsageError, match="is not TOML"):
        read_file(deep)


def test_excluded_nodes_are_left_out_whoever_names_them(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    for text in ('nodes = "c[1-3]"\n' + SHORT, SHORT + 'nodes = "c[1-3]"\n'):
        file.write_text(text)
        (network,) = description_of("net.toml", read_file(file), without=("c2",)).networks
        assert network.nodes == ("c1", "c3")
    with pytest.raises(UsageError, match=r"network n has nodes c\[1-3\], but none is selected"):
        description_of("net.toml", read_file(file), ("c4",))


@pytest.mark.parametrize("text", [
    'nodes = "c[1-3]"\n' + SHORT, SHORT + 'nodes = "c[1-3]"\n', SHORT,
])  # fmt: skip
def test_who_plans_for_some_nodes_does_not_renumber_them(tmp_path: Path, text: str) -> None:
    """c3 would get the address of c2, which keeps it."""
    file = read_file(guide.description(tmp_path, text + 'first = "10.0.0.1"\n'))
    for wanted, without in (((), ("c2",)), (("c3",), ()), (("c1", "c2", "c3"), ("c1", "c2"))):
        if wanted == ("c3",) and text == SHORT:
            continue  # nobody has named the others
        description = description_of(
            "net.toml", file, wanted, without=without, otherwise=("c1", "c2", "c3")
        )
        (network,) = description.networks
        subnet = ipaddress.IPv4Network(network.subnet)
        assert addresses_of(description, network, subnet, {})["c3"] == "10.0.0.3"


def test_a_node_without_a_place_is_not_counted(tmp_path: Path) -> None:
    file = read_file(guide.description(tmp_path, 'nodes = "c1"\n' + SHORT + "first = '10.0.0.1'"))
    description = description_of("net.toml", file, ("c9",))
    (network,) = description.networks
    found = addresses_of(description, network, ipaddress.IPv4Network(network.subnet), {})["c9"]
    assert isinstance(found, Skipped) and "c9 is not among the nodes of n" in found.reason


def test_without_nodes_it_says_how_to_name_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='network n has no nodes; write nodes = "c'):
        read(tmp_path, SHORT, ())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("description") / "net.toml"


@given(st.text(max_size=200))
def test_no_text_ends_otherwise_than_in_a_sentence(file: Path, text: str) -> None:
    file.write_text(text, "utf-8", "replace")
    with pytest.raises(UsageError):
        description_of(str(file), read_file(file))


@pytest.mark.parametrize(
    "page", ["how-to/configure-a-network.md", "reference/network-description.md"]
)
def test_the_examples_of_the_documentation_are_accepted(tmp_path: Path, page: str) -> None:
    (example,) = (
        fence.text for fence in fences((ROOT / "docs" / page).read_text("utf-8"))
        if fence.language == "toml"
    )  # fmt: skip
    text = example if "[[network]]" in example else SHORT + example
    assert read(tmp_path, text).networks


@pytest.mark.parametrize(("line", "words"), [
    ('folder = "/"', "fabric_suite.folder"), ('folder = "//"', "fabric_suite.folder"),
    ('folder = "/opt/.."', "fabric_suite.folder"), ('node = "a/b"', "fabric_suite.node"),
])  # fmt: skip
def test_a_fabric_suite_needs_a_folder_of_its_own_and_a_host(
    tmp_path: Path, line: str, words: str
) -> None:
    text = f'{SHORT}\n[fabric_suite]\narchive = "/root/ifs.tgz"\n'
    assert not isinstance(read(tmp_path, text).fabric_suite, Skipped)
    with pytest.raises(UsageError, match=words):
        read(tmp_path, f"{text}{line}\n")
