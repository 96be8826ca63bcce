"""Platform files of the user's own."""

from pathlib import Path

import pytest

from fabricgauge.features.simulate.simulator import simulation
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError

HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"


def _written(folder: Path, body: str) -> str:
    path = folder / "own.xml"
    path.write_text(f'{HEAD}<platform version="4.1">{body}</platform>\n')
    return str(path)


def test_hosts_of_clusters_and_single_hosts_are_found(tmp_path: Path) -> None:
    path = _written(
        tmp_path,
        '<zone id="z" routing="Full"><host id="login" speed="1f"/>'
        '<cluster id="c" prefix="n" suffix=".x" radical="1-2,9" speed="1f" bw="10GBps"'
        ' lat="1us"/></zone>',
    )
    platform = simulation(path).platform
    assert platform.nodes == ("login", "n1.x", "n2.x", "n9.x")
    assert platform.rate_bit_s == 80e9
    assert platform.path == path


@pytest.mark.parametrize(
    ("bandwidths", "rate_bit_s"),
    [(["100Gbps"], 100e9), (["12.5GBps", "100Gbps"], 100e9), (["1e9"], 8e9), (["1MBps"], 8e6)],
)
def test_one_rate_is_that_of_every_link(
    tmp_path: Path, bandwidths: list[str], rate_bit_s: float
) -> None:
    links = "".join(f'<link id="l{i}" bandwidth="{b}"/>' for i, b in enumerate(bandwidths))
    path = _written(tmp_path, f'<host id="a"/><host id="b"/>{links}')
    assert simulation(path).platform.rate_bit_s == rate_bit_s


@pytest.mark.parametrize("bandwidths", [[], ["1Gbps", "10Gbps"], ["fast"], ["1Gibps"]])
def test_no_rate_is_stated_when_links_differ(tmp_path: Path, bandwidths: list[str]) -> None:
    links = "".join(f'<link id="l{i}" bandwidth="{b}"/>' for i, b in enumerate(bandwidths))
    path = _written(tmp_path, f'<host id="a"/><host id="b"/>{links}')
    assert isinstance(simulation(path).platform.rate_bit_s, Skipped)


@pytest.mark.parametrize(
    "body",
    ["", '<host id="a"/>', '<host id="a"/><host id="a"/>', '<host id="a b"/><host id="c"/>',
     '<cluster prefix="n" radical="1-x"/>', '<cluster prefix="n" radical="0-99999999"/>'],
)  # fmt: skip
def test_a_file_fails_when_its_hosts_are_not_to_be_used(tmp_path: Path, body: str) -> None:
    with pytest.raises(UsageError, match=r"own\.xml"):
        simulation(_written(tmp_path, body))


@pytest.mark.parametrize("text", ["", "hello", "<zone/>", "<platform>", "\x00"])
def test_a_file_fails_when_it_is_no_platform(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.xml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"own\.xml"):
        simulation(str(path))


def test_a_path_fails_when_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        simulation(str(tmp_path / "none.xml"))
