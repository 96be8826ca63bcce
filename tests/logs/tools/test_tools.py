"""The suites' tables: programs that exist, words that stand alone, and where they are found."""

from pathlib import Path

import msgspec
import pytest

from fabricgauge.logs.tools.find import find_programs
from fabricgauge.logs.tools.table import CLIENT, EFFORTS, SERVER, TOOLS, Tool
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes.engines.find import intel_mpi, mpi_of


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
@pytest.mark.parametrize("effort", EFFORTS.values(), ids=list(EFFORTS))
def test_every_start_names_a_program_of_its_suite(tool: Tool, effort: object) -> None:
    starts = tool.starts(EFFORTS["quick"])
    assert len({start.name for start in starts}) == len(starts)
    for start in starts:
        assert start.client[0] in tool.programs
        assert bool(start.server) == (tool.kind == "pair")
        if tool.kind == "pair":
            assert start.port > 0
            assert SERVER in start.client


def test_iperf3_measures_both_directions_and_many_streams() -> None:
    starts = {start.name: start.client for start in TOOLS["iperf3"].starts(EFFORTS["quick"])}
    options = set().union(*map(set, starts.values()))
    assert {"-R", "-P", "4", "--bidir", "-J", CLIENT} <= options


def perftest(**verbs: str) -> dict[str, str]:
    """The clients of perftest's starts by name."""
    keys = {key.replace("_", "-"): value for key, value in verbs.items()}
    effort = msgspec.structs.replace(EFFORTS["quick"], verbs=keys)
    return {start.name: " ".join(start.client) for start in TOOLS["perftest"].starts(effort)}


def test_perftest_connects_by_the_address_and_has_every_program() -> None:
    starts = perftest()
    assert {*starts} == {*TOOLS["perftest"].programs, "ib_send_bw, both directions"}
    assert starts["ib_read_lat"] == f"ib_read_lat -a -R -F -n 10 -p 18519 {SERVER}"
    assert starts["ib_atomic_bw"] == f"ib_atomic_bw -R -F -n 10 -p 18522 {SERVER}"
    assert starts["ib_send_bw, both directions"].endswith(f"-b -p 18523 {SERVER}")
    # A server that is still closing its port is not taken for the next one.
    assert len({start.port for start in TOOLS["perftest"].starts(EFFORTS["quick"])}) == len(starts)


@pytest.mark.parametrize(
    ("kind", "verbs"),
    [
        ("uc", {"send", "write"}),
        ("ud", {"send"}),
        ("xrc", {"send", "write", "read", "atomic"}),
    ],
)
def test_perftest_does_what_a_kind_of_queue_pair_can(kind: str, verbs: set[str]) -> None:
    starts = perftest(queue_pair=kind)
    assert {name.split("_")[1] for name in starts} == verbs
    assert all(f"-c {kind.upper()}" in start for start in starts.values())
    # The connection manager of RDMA knows no UC, and perftest refuses it for XRC.
    assert all(("-R" in start) == (kind == "ud") for start in starts.values())


def test_perftest_is_told_what_each_program_heeds() -> None:
    starts = perftest(inline="0", queue_pairs="4", gid_index="3")
    assert "-d @device -i @port" in starts["ib_read_bw"]
    assert "-q 4 -x 3" in starts["ib_read_bw"]
    assert "-I" not in starts["ib_read_bw"]
    assert "-I 0 -x 3" in starts["ib_write_lat"]
    assert "-q" not in starts["ib_write_lat"]


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_programs_are_found_deep_in_the_folder_that_is_named(tmp_path: Path) -> None:
    here = executable(tmp_path / "libexec" / "osu-micro-benchmarks" / "mpi" / "pt2pt" / "osu_bw")
    (here.parent / "osu_latency").write_text("not executable")
    assert find_programs(TOOLS["osu"], (tmp_path,)) == {"osu_bw": here}


def test_a_module_s_home_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = executable(tmp_path / "bin" / "osu_bw")
    monkeypatch.setenv("EBROOTOSUMINMICROMINBENCHMARKS", str(tmp_path))
    assert find_programs(TOOLS["osu"], ())["osu_bw"] == here


def test_a_suite_that_is_not_there_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="--tool-path"):
        find_programs(TOOLS["perftest"], (tmp_path,))


def test_a_program_without_mpi_has_none(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="true is linked with no known MPI.* --mpi"):
        mpi_of(Path("/bin/true"), ())
    script = executable(tmp_path / "job.sh", "#!/bin/sh\n")
    with pytest.raises(CannotRun, match="job.sh is a script: .* --mpi"):
        mpi_of(script, ())


def test_intel_mpi_names_the_providers_that_are_there(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "mpiexec.hydra", "#!/bin/sh\necho 'Version 2021.17 Build 2'\n")
    provider = tmp_path / "opt" / "mpi" / "libfabric" / "lib" / "prov" / "libtcp-fi.so"
    executable(provider)
    (tmp_path / "lib").mkdir()
    found: Mpi = intel_mpi(tmp_path)
    assert (found.kind, found.version) == ("intelmpi", "2021.17")
    assert found.env["FI_PROVIDER_PATH"] == str(provider.parent)
    assert found.env["LD_LIBRARY_PATH"] == str(tmp_path / "lib")
