"""The commands and files that make virtual machines, and the way into them."""

import lzma
import os
import shutil
import stat
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge import lab
from fabricgauge.features import slurm_lab
from fabricgauge.features.rdma_lab import packages, qemu
from fabricgauge.features.rdma_lab.image import (
    Image,
    Member,
    content_key,
    cpio,
    dependencies,
    image,
    load_order,
)
from fabricgauge.lab.faults import heal, inject
from fabricgauge.lab.host_access import access
from fabricgauge.lab.spec import LabSpec, NetworkSpec, check_spec
from fabricgauge.lab.state import LabFault, LabNetwork, LabNode, LabState, NodeHolder
from fabricgauge.model.errors import LabError, ToolMissing, UsageError

ENTER = Path(lab.__file__).with_name("enter.sh")
FOLDERS = (ENTER.parent, Path(qemu.__file__).parent, Path(slurm_lab.__file__).parent)
SCRIPTS = sorted(script for folder in FOLDERS for script in folder.glob("*.sh"))
HOLDER = NodeHolder(1, 1, 1)
STATE = LabState(
    name="t", directory="/run/lab,1", token="ab", boot_id="", created_utc="", rootless=True,  # noqa: S106
    rdma="roce", nodes=(LabNode("c1", 1, HOLDER), LabNode("c2", 2, HOLDER)),
    networks=(
        LabNetwork("net1", 0, 1e9, 4200, "10.77.0.0/24"),
        LabNetwork("net2", 1, 25e9, 1500, "10.77.1.0/24"),
    ),
)  # fmt: skip
ONE, OTHER = qemu.Guest("c1", 1, "c2", 40001), qemu.Guest("c2", 2, "c1", 40002)
IMAGE = Image(Path("/cache/vmlinuz"), Path("/cache/key.cpio"))


def values(argv: list[str], option: str) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv) if word == option]


def test_guests_hold_the_two_ends_of_each_cable() -> None:
    one, other = (qemu.command(STATE, guest, IMAGE) for guest in (ONE, OTHER))
    assert values(one, "-netdev") == [
        "dgram,id=n0,local.type=unix,local.path=/run/lab,,1/cable0.c1,"
        "remote.type=unix,remote.path=/run/lab,,1/cable0.c2",
        "dgram,id=n1,local.type=unix,local.path=/run/lab,,1/cable1.c1,"
        "remote.type=unix,remote.path=/run/lab,,1/cable1.c2",
        "user,id=door,restrict=on,hostfwd=tcp:127.0.0.1:40001-:22",
    ]
    assert "local.path=/run/lab,,1/cable0.c2,remote.type=unix" in values(other, "-netdev")[0]
    assert "mac=52:54:00:77:00:01,speed=1000," in values(one, "-device")[1]
    assert "mac=52:54:00:77:01:02,speed=25000," in values(other, "-device")[2]


def test_guest_sees_the_machines_files_and_cannot_change_them() -> None:
    (shared,) = values(qemu.command(STATE, ONE, IMAGE), "-fsdev")
    assert "path=/," in shared
    assert "readonly=on" in shared


def test_guest_is_told_its_interfaces() -> None:
    assert qemu.interfaces(STATE, OTHER) == (
        "eth0 10.77.0.12/24 4200 rxe rxe0\neth1 10.77.1.12/24 1500 rxe rxe1\n"
    )
    iwarp = msgspec.structs.replace(STATE, rdma="iwarp")
    assert qemu.interfaces(iwarp, ONE).splitlines()[0] == "eth0 10.77.0.11/24 4200 siw siw0"


def test_guests_of_a_lab_with_slurm_reach_the_head_by_a_hub_and_each_other_by_cables() -> None:
    networks = (
        LabNetwork("mgmt", 0, 1e9, 1500, "10.77.0.0/24"),
        LabNetwork("net1", 1, 1e9, 4200, "fd77:0:0:1::/64"),
    )
    nodes = (LabNode("head", 0, HOLDER), *STATE.nodes)
    state = msgspec.structs.replace(STATE, nodes=nodes, networks=networks)
    for guest, end in ((ONE, "cable1.c2"), (OTHER, "cable1.c1")):
        management, ports, _ = values(qemu.command(state, guest, IMAGE), "-netdev")
        assert management.endswith("remote.path=/run/lab,,1/cable0.head")
        assert ports.endswith(f"remote.path=/run/lab,,1/{end}")
    assert qemu.interfaces(state, OTHER) == (
        "eth0 10.77.0.12/24 1500 - -\neth1 fd77:0:0:1::12/64 4200 rxe rxe1\n"
    )
    assert access(state).head_prefix[-1] == "head"
    assert access(state).nodes == ("c1", "c2")


def test_launches_start_on_the_first_node_where_there_is_no_head() -> None:
    there = access(STATE)
    assert there.nodes == ("c1", "c2")
    assert there.head_prefix == there.hosts[0].prefix


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (LabSpec(nodes=("c1",), rdma="roce"), "has two nodes, not 1"),
        (LabSpec(nodes=("c1", "c2", "c3"), rdma="roce"), "has two nodes, not 3"),
        (LabSpec(slurm=True, rdma="iwarp"), "use --rdma roce"),
        (LabSpec(networks=(NetworkSpec("mgmt", 1e9),), slurm=True, rdma="roce"), "two networks"),
        (LabSpec(nodes=("c1", 'c2"x="'), rdma="iwarp"), "cannot name a virtual machine"),
    ],
)
def test_lab_with_rdma_fails_when_it_cannot_be_made(spec: LabSpec, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_spec(spec)
    check_spec(LabSpec(networks=(NetworkSpec("a", 1e9),), rdma="roce"))


def test_fault_fails_on_virtual_machines_whose_holders_live_in_the_machines_own_network() -> None:
    with pytest.raises(LabError, match="virtual machines"):
        inject(STATE, LabFault("link-down", "c1", "net1"))
    with pytest.raises(LabError, match="virtual machines"):
        heal(STATE)


MEMBERS = (
    Member("bin", stat.S_IFDIR | 0o755),
    Member("dev", stat.S_IFDIR | 0o755),
    Member("bin/busybox", stat.S_IFREG | 0o755, b"\x7fELF" + bytes(13)),
    Member("init", stat.S_IFREG | 0o755, b"#!/bin/busybox sh\n"),
)


def test_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    done = subprocess.run(
        ["busybox", "cpio", "-i", "-d"], input=cpio(MEMBERS), cwd=tmp_path, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for one in MEMBERS:
        found = tmp_path / one.name
        assert found.stat().st_mode == one.mode
        assert found.is_dir() or found.read_bytes() == one.content


@pytest.mark.parametrize(
    "other",
    [
        MEMBERS[:-1],
        (*MEMBERS[:-1], Member("init", stat.S_IFREG | 0o755, b"#!/bin/busybox sh\n\n")),
        (*MEMBERS[:-1], Member("init", stat.S_IFREG | 0o644, b"#!/bin/busybox sh\n")),
        (*MEMBERS[:-1], Member("init2", stat.S_IFREG | 0o755, b"#!/bin/busybox sh\n")),
        (*MEMBERS, Member("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))),
    ],
)
def test_image_has_another_key_when_anything_in_it_is_another(other: tuple[Member, ...]) -> None:
    assert content_key(other) != content_key(MEMBERS)
    assert content_key(tuple(map(msgspec.structs.replace, MEMBERS))) == content_key(MEMBERS)


def module(depends: str) -> bytes:
    """As modpost writes it: words of ``.modinfo``, each ended by a zero byte."""
    return b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=x\0"


def test_modules_come_after_those_that_they_depend_on(tmp_path: Path) -> None:
    needs = {"rdma_rxe": "ib_core,ib-uverbs", "ib_uverbs": "ib_core", "ib_core": "", "other": ""}
    there = {}
    for name, depends in needs.items():
        there[f"{name}.ko"] = tmp_path / f"{name}.ko.xz"
        there[f"{name}.ko"].write_bytes(lzma.compress(module(depends)))
    found = load_order(("rdma_rxe", "built_in", "ib_core"), there)
    assert list(found) == ["ib_core.ko", "ib_uverbs.ko", "rdma_rxe.ko"]
    assert found["ib_uverbs.ko"] == module("ib_core")
    assert list(dependencies(b"depends=a,b_c\0")) == ["a", "b_c"]
    assert list(dependencies(b"no words")) == []


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_shell_finds_nothing_wrong_with_the_scripts(script: Path) -> None:
    done = subprocess.run(
        ["shellcheck", "--shell=sh", str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def entering(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A lab's files, and stand-ins for the programs that reach a guest: what they would start
    runs here."""
    folder = tmp_path_factory.mktemp("it's a lab")
    (folder / "table").mkdir()
    (folder / "enter").write_text(ENTER.read_text())
    (folder / "ssh_config").touch()
    began = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    (folder / "table" / "c1").write_text(f"{os.getpid()} {began} token\n")
    (folder / "table" / "c2").write_text(f"{os.getpid()} {int(began) + 1} token\n")
    programs = folder / "programs"
    programs.mkdir()
    stands_in = {
        "ssh": 'while [ $# -gt 1 ]; do shift; done\nexec env -i PATH="$PATH" sh -c "$1"\n',
        "echo": "",
        "setpriv": 'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n',
    }
    for name, text in stands_in.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(0o755)
    return folder, {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}


@given(
    words=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=4),
    value=st.text(st.characters(codec="utf-8", exclude_characters="\0")),
)
def test_words_and_environment_reach_a_guest_as_they_are(
    entering: tuple[Path, dict[str, str]], words: list[str], value: str
) -> None:
    folder, env = entering
    shown = 'printf "%s\\0" "$PWD" "$FABRICGAUGE_LAB" "$VALUE" "$@"'
    done = subprocess.run(
        ["sh", str(folder / "enter"), "c1", "sh", "-c", shown, "sh", *words],
        capture_output=True, env={**env, "VALUE": value}, cwd=folder, check=True,
    )  # fmt: skip
    assert done.stdout.decode().split("\0")[:-1] == [str(folder), "token", value, *words]


def test_exit_status_of_a_guests_command_is_kept(entering: tuple[Path, dict[str, str]]) -> None:
    folder, env = entering
    done = subprocess.run(
        ["sh", folder / "enter", "c1", "sh", "-c", "exit 42"], env=env, check=False
    )
    assert done.returncode == 42


def test_command_fails_when_the_virtual_machine_has_ended(
    entering: tuple[Path, dict[str, str]],
) -> None:
    folder, env = entering
    done = subprocess.run(
        ["sh", folder / "enter", "c2", "true"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 255
    assert "its virtual machine has ended" in done.stderr
    assert "console.c2" in done.stderr


def test_image_fails_when_others_may_write_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "fabricgauge" / "guests").mkdir(parents=True)
    (tmp_path / "fabricgauge" / "guests").chmod(0o777)
    with pytest.raises(LabError, match="so no kernel from it is used"):
        image("rxe")


def test_image_fails_when_apt_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="apt-get is not installed"):
        image("rxe")


def test_image_is_made_once_and_again_when_its_parts_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(packages, "depends_on", lambda *_: "linux-image-1.2-amd64")
    fetched = []

    def unpack(folder: Path, *names: str) -> None:
        fetched.append(names)
        modules = folder / "lib" / "modules" / "1.2"
        for made in (folder / "boot", folder / "bin", modules):
            made.mkdir(parents=True)
        (folder / "boot" / "vmlinuz-1.2").write_bytes(b"kernel")
        (folder / "bin" / "busybox").write_bytes(b"busybox")
        (modules / "rdma_rxe.ko.xz").write_bytes(lzma.compress(module("")))

    monkeypatch.setattr(packages, "unpack", unpack)
    told: list[str] = []
    first = image("rxe", told.append)
    assert (first.kernel.read_bytes(), len(told)) == (b"kernel", 1)
    assert b"depends=" in first.initrd.read_bytes()
    assert image("rxe", told.append) == first
    assert fetched == [("linux-image-1.2-amd64", "busybox-static")]
    (first.kernel.parent / "busybox").write_bytes(b"another")
    assert image("rxe").initrd != first.initrd
    assert len(fetched) == 1
