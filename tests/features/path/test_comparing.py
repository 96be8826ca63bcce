"""Libraries and functions of two paths, matched by name."""

import msgspec
from tests.features.path.test_reader import line, path_of

from fabricgauge.features.path import changes_content as call_path_changes
from fabricgauge.features.path import content as call_paths
from fabricgauge.features.path.changes_content import compare_paths, library
from fabricgauge.features.path.values import CALLS, CallPath, CallPaths
from fabricgauge.report.formats import DEFAULT_SETTING, formats_of


def function(object_: str, name: str, instructions: int) -> dict[str, object]:
    return {"object": object_, "function": name, "instructions": instructions, "lines": 2}


def path(functions: list[dict[str, object]], **other: object) -> CallPath:
    total = sum(int(str(one["instructions"])) for one in functions)
    objects = [{k: v for k, v in one.items() if k != "function"} for one in functions]
    segments = [[place, one["instructions"]] for place, one in enumerate(functions)]
    return path_of(line(1, total, functions=functions, objects=objects, segments=segments, **other))


def paths(mpi: str, *those: CallPath) -> CallPaths:
    return CallPaths("", mpi, "2026-01-01T00:00:00Z", mpi, ("c1",), {}, those)


A = paths(
    "A 1",
    path(
        [function("libmpi.so.40.1", "MPI_Send", 30), function("libpsm2.so.2", "psm2_send", 70)],
        calls=3, locked=2,
    ),
)  # fmt: skip
B = paths(
    "B 2", path([function("libmpi.so.12", "MPI_Send", 20), function("libmpi.so.12", "inject", 40)])
)


def test_a_library_is_known_without_its_version() -> None:
    names = ("libmpi.so.40.30.4", "libc.so.6", "libpsmx2-fi.so", "calls", "[vdso]")
    assert [library(one) for one in names] == ["libmpi", "libc", "libpsmx2-fi", "calls", "[vdso]"]


def test_removed_and_added_functions_and_each_librarys_difference_are_told() -> None:
    (change,) = compare_paths(A, B).changes
    assert [(one.function, one.removed, one.added) for one in change.functions] == [
        ("psm2_send", True, False), ("inject", False, True), ("MPI_Send", False, False),
    ]  # fmt: skip
    assert [(one.library, one.a_instructions, one.b_instructions) for one in change.libraries] == [
        ("libpsm2", 70, 0), ("libmpi", 30, 60),
    ]  # fmt: skip


def test_calls_that_one_side_alone_has_are_not_compared() -> None:
    other = msgspec.structs.replace(B.paths[0], message_bytes=8)
    found = compare_paths(A, paths("B", other))
    assert (found.changes, found.only_a, found.only_b) == ((), A.paths, (other,))
    assert "no call in common" in call_path_changes.headline(found)


def test_every_format_tells_the_difference() -> None:
    found = compare_paths(A, B)
    for name, written in formats_of(call_path_changes.KIND).items():
        text = written(found, DEFAULT_SETTING)
        assert "psm2_send" in text, name
    terminal = formats_of(call_path_changes.KIND)["terminal"](found, DEFAULT_SETTING)
    flat = " ".join(terminal.split())
    assert "B executes 60 instructions, A 100 (−40.0 %)" in flat
    assert "2 calls fewer" in flat
    assert "2 locked operations fewer" in flat


def test_the_listing_has_each_function_in_order_and_sums_of_its_library() -> None:
    text = formats_of(call_paths.KIND)["listing"](A, DEFAULT_SETTING)
    assert text.splitlines()[1:6] == [
        "libmpi.so.40.1:MPI_Send\t30", "libmpi.so.40.1\t30", "libpsm2.so.2:psm2_send\t70",
        "libpsm2.so.2\t70", "Totals\t100",
    ]  # fmt: skip


def test_a_name_from_a_file_is_inert_in_every_format() -> None:
    bad = paths("A", path([function("lib\x1b[31m.so", "<script>alert(1)</script>", 5)]))
    for name, written in formats_of(call_paths.KIND).items():
        text = written(bad, DEFAULT_SETTING)
        assert "\x1b" not in text, name
        if name == "html":
            assert "<script>alert" not in text


def test_an_mpi_that_is_part_of_the_program_is_told_and_a_jump_to_its_library_is_none() -> None:
    said = "The MPI is linked statically"
    for name, static in {"MPI_Send": True, "MPI_Send@plt": False}.items():
        made = paths("A 1", path([function(CALLS, name, 30)]))
        assert made.paths[0].is_static is static
        text = formats_of(call_paths.KIND)["terminal"](made, DEFAULT_SETTING)
        assert (said in text) is static
