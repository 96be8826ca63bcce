"""Broken words of a person: node sets and description files are understood, or refused."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.fuzz.mutations import broken

from fabricgauge.features.configure.apply.read_description import description_of, read_file
from fabricgauge.model.errors import UsageError
from fabricgauge.nodes.launch.launchers.nodes import expand
from fabricgauge.store import settings

#: As many nodes as a node set may come to before that is a fault of its own.
MOST_NODES = 200_000

NODE_SETS = (
    b"c[1-4]", b"rack[1-2]n[01-16]", b"c1,c2,c[5-9/2]", b"c[1-9]!c3", b"a[1-3]b[2-4]c[3-5]",
    b"node-7.example,10.0.0.1", b"c[001-010]&c[5-7]", b"c[1-3]^c[2-9]", b"@rack1", b"^/dev/null",
    b"c[1-9999]", b"c[1-99]x[1-99]y[1-9]",
)  # fmt: skip
DESCRIPTION = b"""backend = "ip"
nodes = "c[1-2]"
management = "10.10.1.0/24"

[[network]]
name = "net40"
subnet = "10.10.40.0/24"
adapter = { product = "XL710" }
interface = { c1 = "eth1", c2 = "eth2" }
addresses = { "c[1-2]" = "10.10.40.21" }
rate = "40G"
mtu = 9000
first = "10.10.40.21"
suffix = "-eth40"

[head]
packages = ["librdmacm"]
memlock = "unlimited"

[export]
path = "/opt/intel"

[[services]]
enable = ["opafm"]
"""
SETTINGS = b"""[check]
profile = "standard"
sizes = "0,8,1K"

[thresholds]
"path.share" = 0.9

[[network]]
name = "data"
subnet = "10.10.0.0/16"
rate = "25Gb/s"
"""


def _nodes(content: bytes) -> Iterator[str]:
    text = content.decode("utf-8", "replace").replace("^/", "^./")  # no file of this machine
    found = expand(text)
    if len(found) > MOST_NODES:
        yield f"{len(found)} nodes"


def _description(content: bytes) -> Iterator[str]:
    file = _file(content)
    description_of("net.toml", read_file(file))
    yield from ()


def _settings(content: bytes) -> Iterator[str]:
    settings.load((_file(content),))
    yield from ()


def _file(content: bytes) -> Path:
    import os

    shared = Path("/dev/shm")
    folder = shared if shared.is_dir() else Path("/tmp")
    file = folder / f"fuzz-{os.getpid()}.toml"
    file.write_bytes(content)
    file.chmod(0o600)
    return file


READ: dict[str, tuple[Callable[[bytes], Iterator[str]], tuple[bytes, ...]]] = {
    "node sets": (_nodes, NODE_SETS),
    "descriptions": (_description, (DESCRIPTION,)),
    "settings": (_settings, (SETTINGS,)),
}


def input_of(name: str, seed: int, number: int) -> bytes:
    random = Random(f"{name}:{seed}:{number}")  # noqa: S311
    sources = READ[name][1]
    return broken(random, tuple(text.splitlines(keepends=True) for text in sources))


def complaints(name: str, content: bytes) -> Iterator[str]:
    """What is wrong with the reading; a sentence for a person is not."""
    try:
        yield from READ[name][0](content)
    except UsageError:
        return
