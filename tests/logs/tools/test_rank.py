"""What each rank runs first: it tells where it is and becomes the program, whatever its name."""

import platform
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.logs.readers.engine import is_telling, placement
from fabricgauge.logs.tools.running import with_placement
from fabricgauge.model.absence import Skipped

#: What an argument can hold; the script must hand it on untouched.
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def said(argv: tuple[str, ...], **env: str) -> list[str]:
    done = subprocess.run(
        argv, capture_output=True, check=True, env={"PATH": "/usr/bin:/bin", **env}
    )
    return done.stdout.decode().split("\n")


@settings(max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=4), st.dictionaries(WORDS, WORDS, max_size=3))
def test_program_and_arguments_arrive_as_they_are(
    words: list[str], interfaces: dict[str, str]
) -> None:
    argv = with_placement(("printf", "%s\\0", *words), interfaces)
    done = subprocess.run(argv, capture_output=True, check=True)
    assert done.stdout.split(b"\n", 1)[1] == b"".join(word.encode() + b"\0" for word in words)


def test_the_rank_is_the_one_that_mpi_gives() -> None:
    for variable in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"):
        found = placement(said(with_placement(("true",), {}, rank=5), **{variable: "1"})[0])
        assert found is not None
        assert found.rank == 1
    alone = placement(said(with_placement(("true",), {}, rank=5))[0])
    assert alone is not None
    assert alone.rank == 5


def test_the_interface_is_that_of_this_host_alone() -> None:
    names = {platform.node(): "eth7", "elsewhere": "eth9"}
    lines = said(with_placement(("env",), names))
    told = placement(lines[0])
    assert told is not None
    assert (told.interface, told.host) == ("eth7", platform.node())
    assert {"FI_TCP_IFACE=eth7", "UCX_NET_DEVICES=eth7", "NCCL_SOCKET_IFNAME==eth7"} <= set(lines)
    assert not [line for line in lines if line.startswith("NCCL_IB_HCA")]


def test_a_host_that_is_not_named_gets_no_interface() -> None:
    lines = said(with_placement(("env",), {"elsewhere": "eth9"}))
    assert not [line for line in lines if line.startswith(("FI_TCP", "UCX_NET"))]


#: Two sockets: GPUs 0 and 1 and an adapter below a bridge of the first, GPU 2 with one of the
#: second, and an adapter below a bridge without a GPU.
_DEVICES = {
    "nvidia": ("pci0000:00/0000:00:01.0/0000:0b:00.0", "pci0000:00/0000:00:02.0/0000:1b:00.0",
               "pci0000:80/0000:80:01.0/0000:8b:00.0"),
    "eth0": "pci0000:00/0000:00:02.0/0000:1c:00.0",
    "eth1": "pci0000:80/0000:80:01.0/0000:8c:00.0",
    "eth2": "pci0000:c0/0000:c0:01.0/0000:cc:00.0",
}  # fmt: skip


def on(tree: Path, driver: str, interface: str, **env: str) -> list[str]:
    """What a rank says with the devices above in the place of the machine's own."""
    for at in _DEVICES["nvidia"]:
        (tree / "devices" / at).mkdir(parents=True)
        link = tree / "bus" / "pci" / "drivers" / driver / at.rpartition("/")[2]
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(tree / "devices" / at)
    adapter = tree / "devices" / str(_DEVICES[interface])
    (adapter / "infiniband" / "mlx5_7").mkdir(parents=True)
    (tree / "class" / "net" / interface).mkdir(parents=True)
    (tree / "class" / "net" / interface / "device").symlink_to(adapter)
    words = with_placement(("env",), {platform.node(): interface}, nearest_gpu=True)
    script = words[2].replace("/sys/", f"{tree}/")
    return [one for one in said((*words[:2], script, *words[3:]), **env) if "VISIBLE" in one]


@pytest.mark.parametrize(
    ("driver", "interface", "visible"),
    [
        ("nvidia", "eth0", ["CUDA_VISIBLE_DEVICES=1"]),
        ("nvidia", "eth1", ["CUDA_VISIBLE_DEVICES=2"]),
        ("amdgpu", "eth1", ["HIP_VISIBLE_DEVICES=2"]),
        ("nvidia", "eth2", []),
    ],
)
def test_a_rank_has_the_gpu_that_is_nearest_to_its_adapter(
    tmp_path: Path, driver: str, interface: str, visible: list[str]
) -> None:
    assert on(tmp_path, driver, interface) == visible


def test_whoever_chose_gpus_keeps_them(tmp_path: Path) -> None:
    chosen = on(tmp_path, "nvidia", "eth0", CUDA_VISIBLE_DEVICES="3,4")
    assert chosen == ["CUDA_VISIBLE_DEVICES=3,4"]


def test_a_kernel_without_numa_nodes_is_no_node_0(tmp_path: Path) -> None:
    words = with_placement(("true",), {})
    script = words[2].replace("/sys/", f"{tmp_path}/")
    found = placement(said((*words[:2], script, *words[3:]))[0])
    assert found is not None
    assert isinstance(found.numa_node, Skipped)


def test_a_line_that_is_cut_off_is_no_placement() -> None:
    whole = said(with_placement(("true",), {}))[0]
    assert is_telling(whole)
    for cut in range(len(whole)):
        part = placement(whole[:cut])
        assert part is None or whole.startswith(part.host, whole.index("host=") + 5)
