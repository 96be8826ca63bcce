"""What each rank runs first: it tells where it is and becomes the program, whatever its name."""

import platform
import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.parse.tasks import is_telling, placement
from fabricgauge.run.tools.running import telling

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
    argv = telling(("printf", "%s\\0", *words), interfaces)
    done = subprocess.run(argv, capture_output=True, check=True)
    assert done.stdout.split(b"\n", 1)[1] == b"".join(word.encode() + b"\0" for word in words)


def test_the_rank_is_the_one_that_mpi_gives() -> None:
    for variable in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"):
        found = placement(said(telling(("true",), {}, rank=5), **{variable: "1"})[0])
        assert found is not None
        assert found.rank == 1
    alone = placement(said(telling(("true",), {}, rank=5))[0])
    assert alone is not None
    assert alone.rank == 5


def test_the_interface_is_that_of_this_host_alone() -> None:
    names = {platform.node(): "eth7", "elsewhere": "eth9"}
    lines = said(telling(("env",), names))
    told = placement(lines[0])
    assert told is not None
    assert (told.interface, told.host) == ("eth7", platform.node())
    assert {"FI_TCP_IFACE=eth7", "UCX_NET_DEVICES=eth7", "NCCL_SOCKET_IFNAME==eth7"} <= set(lines)
    assert not [line for line in lines if line.startswith("NCCL_IB_HCA")]


def test_a_host_that_is_not_named_gets_no_interface() -> None:
    lines = said(telling(("env",), {"elsewhere": "eth9"}))
    assert not [line for line in lines if line.startswith(("FI_TCP", "UCX_NET"))]


def test_a_line_that_is_cut_off_is_no_placement() -> None:
    whole = said(telling(("true",), {}))[0]
    assert is_telling(whole)
    for cut in range(len(whole)):
        part = placement(whole[:cut])
        assert part is None or whole.startswith(part.host, whole.index("host=") + 5)
