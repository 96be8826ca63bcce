"""The validation guide's cluster: its printouts as a bundle, its networks as descriptions."""

import shutil
from pathlib import Path

FIXTURES = Path(__file__).parents[3] / "fixtures"
ROOT = "/install/netboot/centos8.3/x86_64/compute/rootimg"

NET40 = """\
backend = "xcat"
nodes = "c[1-2]"

[[network]]
name = "net40"
subnet = "10.10.40.0/255.0.0.0"
rate = "40G"
adapter = { product = "XL710" }
first = "10.10.40.21"
suffix = "-eth40"
"""

OMNI_PATH = f"""\
backend = "xcat"
nodes = "c[1-2]"

[[network]]
name = "ib0"
kind = "omni-path"
subnet = "10.10.100.0/255.0.0.0"
interface = "ib0"
addresses = {{ c1 = "10.10.100.21", c2 = "10.10.100.22" }}
suffix = "-ib0"

[head]
packages = ["opensm-libs", "librdmacm"]
memlock = "unlimited"

[image]
root = "{ROOT}"
osimage = "centos8-x86_64-netboot-compute"
memlock = "unlimited"
mounts = [{{ source = "10.10.1.10:/opt/intel", target = "/opt/intel" }}]

[export]
path = "/opt/intel"

[[services]]
enable = ["opafm", "rdma"]
"""


def bundle(under: Path, lanes: str = "guide--1x40") -> Path:
    """The printouts of c1 and c2 as ``discover`` would keep them."""
    path = under / "bundle"
    for node in ("c1", "c2"):
        (path / node).mkdir(parents=True)
        shutil.copy(FIXTURES / f"lshw/guide--{node}.out", path / node / "lshw.txt")
        shutil.copy(FIXTURES / f"qcu/{lanes}.out", path / node / "qcu64e.txt")
    return path


def description(under: Path, text: str) -> Path:
    path = under / "net.toml"
    path.write_text(text)
    return path
