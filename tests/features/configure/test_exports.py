"""Exports files as exports(5) has them, and the lowest free fsid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.configure.sample import answered, drafted, wish

from fabricgauge.features.configure.description import Export
from fabricgauge.features.configure.export import lowest_free_fsid, parse_exports
from fabricgauge.features.configure.files import octal
from fabricgauge.features.configure.interface import plan
from fabricgauge.features.configure.job import Reply, Step, holds
from fabricgauge.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("", 1),
        ("/home *(rw,fsid=10)\n/opt *(ro,fsid=11)\n", 1),
        ("/a *(fsid=1)\n/b *(fsid=2)\n/c *(fsid=4)\n", 3),
        ("/ *(ro,fsid=0)\n/b *(fsid=root)\n", 1),
        ("/a *(fsid=1) # fsid=2\n# /x *(fsid=2)\n", 2),
        ("/a h1(rw,fsid=1) \\\n  h2(ro,fsid=2)\n/b *(fsid=3)", 4),
        ("/a -fsid=1,ro h1 h2(rw)\n", 2),
        ('"/with blank" *(fsid=1)\n"/with # sign" *(fsid=2)\n', 3),
        ("/a *(fsid=0x1)\n/b *(fsid=02)\n", 3),
        ("/a *(fsid=6f2b0a9c-9d0e-4a3e-8a39-0a4f5b1d2c3e)\n/b *(fsid=1x)\n", 1),
        ("/a (ro,fsid=1)\n", 2),
        ("/a *(ro,fsid=13)\n", 1),
    ],
)
def test_the_lowest_number_that_nobody_has(text: str, free: int) -> None:
    assert lowest_free_fsid(text) == free


def test_paths_in_quotes_and_escapes_are_read() -> None:
    found = parse_exports('"/a b" *(ro)\n/c\\040d h(rw)\n/e\n')
    assert [(one.path, one.client) for one in found] == [("/a b", "*"), ("/c d", "h"), ("/e", "")]


@given(st.text(max_size=300))
def test_no_text_breaks_the_parser(text: str) -> None:
    assert lowest_free_fsid(text) >= 1


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30),
       st.integers(1, 2**31))  # fmt: skip
def test_a_path_that_was_written_is_read_again(name: str, fsid: int) -> None:
    (one,) = parse_exports(f"{octal('/' + name)} *(ro,fsid={fsid})\n")
    assert (one.path, one.options) == (f"/{name}", ("ro", f"fsid={fsid}"))


def steps(exports: str) -> tuple[Step, Step]:
    """The line, and the server's reading it."""
    export = Export("/opt/intel")
    job = answered(drafted(wish("ip", export=export)), {("", "/etc/exports"): exports})
    line, told = (
        one for one in plan(job).steps if one.title.startswith(("Export ", "Let the NFS server"))
    )
    return line, told


def step(exports: str) -> Step:
    return steps(exports)[0]


def test_the_line_gets_the_lowest_free_number_and_the_rest_stays() -> None:
    old = "/home *(rw,fsid=1) # homes\n/x *(fsid=3)"
    one = step(old)
    new = f"{old}\n/opt/intel *(ro,no_subtree_check,fsid=2)\n"
    assert one.commands[-1].stdin == new
    assert one.undo[0].stdin == (
        " /home *(rw,fsid=1) # homes\n-/x *(fsid=3)\n\\ No newline at end of file\n"
        "+/x *(fsid=3)\n+/opt/intel *(ro,no_subtree_check,fsid=2)\n"
    )
    assert one.before[0].command.stdin == old  # nobody may have changed it meanwhile


def test_a_last_line_that_a_backslash_continues_does_not_take_the_new_one_in() -> None:
    one = step("/home h1(rw,fsid=1) \\\n")
    found = parse_exports(one.commands[-1].stdin)
    assert [(each.path, each.client) for each in found] == [("/home", "h1"), ("/opt/intel", "*")]


def test_undoing_the_line_also_tells_the_server() -> None:
    """The steps are undone backwards: told before the line is gone, it would go on exporting."""
    line, told = steps("/home *(rw,fsid=10)\n")
    assert [command.argv[0] for command in line.undo] == ["sh", "exportfs"]
    assert told.undo == () and told.undo_note


def test_another_directory_whose_path_ends_alike_is_no_evidence() -> None:
    _, told = steps("")
    (check,) = told.verify
    assert holds(check, Reply(0, "/home  *(rw)\n/opt/intel  *(ro)\n"))
    assert not holds(check, Reply(0, "/srv/opt/intel  *(ro)\n"))


def test_a_directory_that_is_exported_so_is_left() -> None:
    one = step("/opt/intel *(ro,no_subtree_check,fsid=13)\n")
    assert one.fulfilled == "/etc/exports has /opt/intel *(ro,no_subtree_check,fsid=13)"


def test_a_directory_that_is_exported_otherwise_is_refused() -> None:
    with pytest.raises(UsageError, match="exports /opt/intel to \\* with rw"):
        step("/opt/intel *(rw)\n")


def test_without_the_file_no_number_is_invented() -> None:
    with pytest.raises(UsageError, match="its lowest free fsid is not known"):
        plan(drafted(wish("ip", export=Export("/opt/intel"))))
    plan(drafted(wish("ip", export=Export("/opt/intel", fsid=13))))
