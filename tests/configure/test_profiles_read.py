"""Files of network services, read by the services' own programs; none of their daemons runs."""

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.configure.sample import NO

from fabricgauge.configure.backends.profiles import keyfile, netplan_text, networkd_text
from fabricgauge.model.configuration import WantedNetwork, WantedPort

PORT = WantedPort("c1", "enp97s0", "10.10.40.21", 24)

KINDS = pytest.mark.parametrize(
    ("kind", "mtu"), [("ethernet", 9000), ("infiniband", 65520), ("omni-path", 0)]
)


def wanted(kind: str, mtu: int) -> WantedNetwork:
    return WantedNetwork("net40", "10.10.40.0/24", kind, (PORT,), NO, mtu or NO, "")


#: Where ``make test`` puts nmcli, whose package would bring a service along.
UNPACKED = Path(__file__).parents[2] / "build"


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=UNPACKED)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def sections(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


@KINDS
def test_netplan_makes_of_its_file_what_networkd_gets(tmp_path: Path, kind: str, mtu: int) -> None:
    """Both files mean the same, so each shows that the other is right."""
    folder = tmp_path / "etc" / "netplan"
    folder.mkdir(parents=True)
    file = folder / "60-fabricgauge-net40.yaml"
    file.write_text(netplan_text(wanted(kind, mtu), PORT))
    file.chmod(0o600)
    done = subprocess.run(
        [program("netplan"), "generate", "--root-dir", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (made,) = (tmp_path / "run" / "systemd" / "network").glob("*.network")
    found, ours = sections(made.read_text()), sections(networkd_text(wanted(kind, mtu), PORT))
    assert found["Network"].pop("LinkLocalAddressing") == "ipv6"  # networkd's own default
    assert ours["Network"].pop("DHCP") == "no"  # and this too
    assert found == ours


@KINDS
def test_nmcli_reads_the_keyfile(kind: str, mtu: int) -> None:
    """``--offline`` reads a profile, checks every property, and prints it."""
    text = keyfile(wanted(kind, mtu), PORT)
    done = subprocess.run(
        [program("nmcli"), "--offline", "connection", "modify", "connection.autoconnect", "yes"],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found, ours = sections(done.stdout), sections(text)
    assert ours["connection"].pop("autoconnect") == "true"  # the default, which it leaves out
    assert {name: found.get(name, {}) for name in ours} == ours
