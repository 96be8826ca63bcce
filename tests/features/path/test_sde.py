"""Files of Intel SDE as traced paths: a trace, a mix and a footprint, alone and together."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.cli.verbs import cli
from fabricgauge.features.path.changes_content import compare_paths
from fabricgauge.features.path.recording import stored_paths
from fabricgauge.features.path.sde import is_sde, sde_paths
from fabricgauge.features.path.values import CALLS, REGION
from fabricgauge.model.errors import StoreError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sde"
TRACE = FIXTURES / "debugtrace-symbols.out"
MIX = FIXTURES / "8.16--qreverse-mix.out"
PSM2 = FIXTURES / "9.0.0--talk-send-psm2-footprint.out"
OPX = FIXTURES / "9.0.0--talk-send-opx-footprint.out"
GUIDE = FIXTURES / "9.33--as-its-guide-shows-footprint.out"
OPX_CALL = "fi_opx_tinject_0_FI_AV_MAP_0x0018000000000000uul_OFI_RELIABILITY_KIND_ONLOAD"


def functions(*files: Path) -> dict[tuple[str, str], int]:
    (path,) = sde_paths("x", [file.read_text() for file in files]).paths
    return {(one.object, one.function): one.instructions for one in path.call.functions}


def test_a_trace_has_its_instructions_by_function_in_order() -> None:
    (path,) = sde_paths("x", [TRACE.read_text()]).paths
    call = path.call
    assert not path.is_static  # the region begins before the call
    assert call.instructions == 8
    counts = {(one.object, one.function): one.instructions for one in call.functions}
    assert counts == {
        (CALLS, "main"): 2, (CALLS, "MPI_Send@plt"): 1, ("libmpi.so.12", "MPI_Send"): 4,
        ("libfabric.so.1", OPX_CALL): 1,
    }  # fmt: skip
    names = [call.functions[number].function for number, _ in call.segments]
    assert names == ["main", "MPI_Send@plt", "MPI_Send", OPX_CALL, "MPI_Send"]
    assert [count for _, count in call.segments] == [2, 1, 2, 1, 2]


def test_a_trace_without_symbols_is_counted() -> None:
    (path,) = sde_paths("x", [(FIXTURES / "debugtrace-no-symbols.out").read_text()]).paths
    assert path.call.instructions == 3
    assert {one.object for one in path.call.objects} == {"no symbols"}


def test_of_several_threads_the_one_with_most_instructions_counts() -> None:
    other = "TID1: INS 0x0000000000401136 /opt/x:spin BASE nop\n"
    mine = "".join(f"TID0: {line}\n" for line in TRACE.read_text().splitlines())
    (path,) = sde_paths("x", [other * 3 + mine]).paths
    assert path.call.instructions == 8


def test_a_mix_has_each_function_once_and_its_sum() -> None:
    reverse = (CALLS, "void qReverse<1ul>(void*, unsigned long)")
    assert functions(MIX) == {reverse: 70, ("libc.so.6", "memcpy"): 30}


def test_a_mix_whose_functions_were_cut_off_has_the_rest_of_its_sum() -> None:
    text = MIX.read_text()
    begin, end = text.index("# $dynamic-counts-for-function: memcpy"), text.index("# EMIT_GLOBAL")
    (path,) = sde_paths("x", [text[:begin] + text[end:]]).paths
    assert path.call.instructions == 100
    assert path.call.objects[1].instructions == 30
    assert path.call.objects[1].object == "no function"


@pytest.mark.parametrize(
    ("file", "load", "total"),
    [(PSM2, 70, 218), (OPX, 45, 144), (GUIDE, 2745, 5836)],
)
def test_a_footprint_has_its_cache_lines(file: Path, load: int, total: int) -> None:
    (path,) = sde_paths("x", [file.read_text()]).paths
    assert (path.call.lines.load, path.call.lines.total) == (load, total)
    assert "add the file of -omix or -dt_out" in path.problem


def test_periods_of_a_footprint_are_refused() -> None:
    text = PSM2.read_text().replace("--    ", "100   ")
    with pytest.raises(StoreError, match="without -fp_time"):
        sde_paths("x", [text])


def test_the_files_of_a_directory_are_one_region(tmp_path: Path) -> None:
    for name, file in (("sdelog.0", TRACE), ("footprint", OPX)):
        (tmp_path / name).write_bytes(file.read_bytes())
    (tmp_path / "notes.txt").write_text("mine\n")
    (path,) = stored_paths(tmp_path, str(tmp_path)).paths
    assert (path.operation, path.call.instructions, path.call.lines.total) == (REGION, 8, 144)
    assert path.problem == ""
    (tmp_path / "mixlog").write_bytes(MIX.read_bytes())
    (path,) = stored_paths(tmp_path, str(tmp_path)).paths
    assert "8 instructions, the mix 100" in path.problem
    (tmp_path / "second").write_bytes(OPX.read_bytes())
    with pytest.raises(StoreError, match="two files are SDE's footprint"):
        stored_paths(tmp_path, str(tmp_path))


def test_a_region_stands_for_the_only_call_of_the_other_side(tmp_path: Path) -> None:
    a = stored_paths(tmp_path, "opx-send-instructions-opx")
    b = stored_paths(tmp_path, str(TRACE))
    for comparison in (compare_paths(a, b), compare_paths(b, a)):
        (change,) = comparison.changes
        assert {change.a.operation, change.b.operation} == {"send"}
        assert sorted((change.a.call.instructions, change.b.call.instructions)) == [8, 630]


def test_two_footprints_are_compared(tmp_path: Path) -> None:
    (change,) = compare_paths(*(stored_paths(tmp_path, str(one)) for one in (PSM2, OPX))).changes
    assert (change.a.call.lines.total, change.b.call.lines.total) == (218, 144)


def test_import_stores_a_file_of_sde_for_comparisons(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["import", str(TRACE), "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "8 instructions" in done.output
    (path,) = stored_paths(tmp_path, "latest").paths
    assert path.call.instructions == 8


def test_another_file_is_none_of_sdes(tmp_path: Path) -> None:
    other = tmp_path / "log"
    other.write_text("# OSU MPI Latency Test v7.4\n")
    assert not is_sde(other.read_text())
    with pytest.raises(StoreError, match="no file of Intel SDE"):
        stored_paths(tmp_path, str(other))


@given(st.text(alphabet="INS0x7f :+=#*$total-\n", max_size=300), st.integers(0, 400))
def test_damage_raises_nothing_else(damage: str, place: int) -> None:
    for file in (TRACE, MIX, PSM2):
        text = file.read_text()
        try:
            (path,) = sde_paths("x", [text[:place] + damage + text[place + len(damage) :]]).paths
        except StoreError:
            continue
        total = sum(one.instructions for one in path.call.functions)
        assert path.call.instructions == total
