"""A requested option has an effect, or is refused with the reason."""

import msgspec
import pytest

from fabricgauge.features.gpu.within_nodes import PROGRAMS
from fabricgauge.logs.tools.table import TOOLS
from fabricgauge.model.errors import UsageError
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.request import (
    INSIDE_NODES,
    OWN_LAB,
    WITHOUT_MPI,
    MeasurementRequest,
    describe_place,
    keep_applicable,
    merge_resumed,
    missing_place_words,
)


@pytest.mark.parametrize(
    ("asked", "ranks", "reason"),
    [
        ({"parallel": 4}, 2, "--parallel is for the programs of another suite"),
        ({"tool_path": "/opt"}, 2, "--tool-path is for the programs of another suite"),
        ({"tool": "osu", "parallel": 4}, 2, "--parallel has no effect on osu"),
        ({"tool": "iperf3", "sizes": (8,)}, 2, "--sizes has no effect on a suite"),
        ({"tool": "iperf3", "budget": 60.0}, 2, "--budget has no effect on a suite"),
        ({"tool": "osu", "concurrent": 3}, 0, "--concurrent has no effect on a suite"),
        ({"tool": "nccl-tests", "concurrent": 3}, 2, "--concurrent has no effect on two ranks"),
        ({"tool": "iperf3", "ppn": 2}, 2, "--ppn has no effect on a suite"),
        ({"tool": "iperf3", "mpi": "openmpi"}, 2, "--mpi has no effect on iperf3"),
        ({"tool": "nvbandwidth", "profile": "full"}, 0, "--profile has no effect on nvbandwidth"),
        ({"unpinned": True, "network": ("net1",)}, 2, "leave --network out"),
        ({"concurrent": 3}, 2, "--concurrent has no effect on two ranks"),
        ({"topology": "file"}, 2, "--topology has no effect on two ranks"),
        ({"tool": "nccl-tests", "topology": "file"}, 2, "--topology has no effect on two ranks"),
        ({"lab": OWN_LAB, "launcher": "ssh"}, 0, "--lab and --launcher exclude each other"),
        ({"lab": "x", "ssh_config": "file"}, 0, "--ssh-config has no effect on a lab"),
        ({"launcher": "local", "ssh_config": "file"}, 0, "--ssh-config has no effect"),
        ({"nodes": 4}, 0, "--lab-nodes is the size of a new lab"),
        ({"lab": "mine", "nodes": 4}, 0, "--lab-nodes is the size of a new lab"),
        ({"sim_fault": ("rate a 0.5",)}, 0, "--sim-fault"),
        ({"sim_seed": 3}, 0, "--sim-seed"),
        ({"sim": "star:4", "lab": OWN_LAB}, 4, "--sim excludes"),
        ({"sim": "star:4", "topology": "file"}, 4, "leave --topology out"),
        ({"sim": "star:4", "mpi": "openmpi"}, 4, "--mpi has no effect on --sim"),
        ({"transport": "verbs"}, 3, "--transport verbs measures one pair"),
        ({"transport": "verbs", "unpinned": True}, 2, "--unpinned is for MPI"),
        ({"transport": "verbs", "tool": "osu"}, 2, "--transport has no effect on a suite"),
        ({"transport": "verbs", "sim": "star:2"}, 2, "--transport has no effect on --sim"),
        (
            {"transport": "verbs", "patterns": ("latency", "put_latency:fence")},
            2,
            "--patterns: verbs lacks put_latency:fence; it supports bandwidth",
        ),
        ({"resume": "latest", "transport": "verbs"}, 0, "--resume takes --transport from the run"),
        ({"memory": "cuda"}, 3, "--memory cuda measures one pair"),
        ({"memory": "cuda", "transport": "ofi"}, 2, "--memory cuda is for MPI; --transport ofi"),
        ({"memory": "cuda", "tool": "osu"}, 2, "--memory has no effect on a suite"),
        ({"memory": "cuda", "sim": "star:2"}, 2, "--memory has no effect on --sim"),
        (
            {"memory": "cuda", "patterns": ("accumulate_latency:fence", "put_latency")},
            2,
            "--memory cuda lacks accumulate_latency; it supports",
        ),
        ({"memory": "cuda", "patterns": ("allreduce",)}, 2, "--memory cuda lacks allreduce"),
        (
            {"memory": "cuda", "patterns": ("bcast", "latency")},
            3,
            "more ranks can only measure collectives",
        ),
        ({"memory": "cuda,host", "patterns": ("bcast",)}, 2, "bcast has no origin and target"),
        ({"device": 0}, 2, "--device is the GPU of --memory cuda, hip or managed"),
        ({"buffers": "single", "tool": "osu"}, 2, "--buffers has no effect on a suite"),
        ({"buffers": "single", "sim": "star:2"}, 2, "--buffers has no effect on --sim"),
        ({"buffers": "multiple", "transport": "ofi"}, 2, "--buffers multiple is for MPI"),
        (
            {"buffers": "multiple", "patterns": ("put_bandwidth:fence", "allreduce")},
            2,
            "--buffers has no effect on put_bandwidth, allreduce",
        ),
        (
            {"buffers": "single", "check_data": True},
            2,
            "--check-data needs a buffer for each message",
        ),
        ({"resume": "latest", "buffers": "single"}, 0, "--resume takes --buffers from the run"),
        ({"resume": "latest", "memory": "cuda"}, 0, "--resume takes --memory from the run"),
        ({"resume": "latest", "profile": "full"}, 0, "--resume takes --profile from the run"),
        ({"resume": "latest", "ppn": 3}, 0, "--resume takes --ppn from the run; leave it out"),
        ({"resume": "latest", "lab": OWN_LAB, "nodes": 3}, 0, "--resume takes --lab-nodes from"),
        ({"resume": "latest", "sim": "star:4", "sim_seed": 3}, 0, "--resume takes --sim-seed"),
        ({"resume": "latest", "tool_path": "/opt"}, 0, "--tool-path is for the programs"),
        ({"resume": "latest", "budget": 9.0}, 0, "--resume takes --budget from the run"),
    ],
)
def test_an_option_without_effect_is_refused_with_the_reason(
    asked: dict[str, object], ranks: int, reason: str
) -> None:
    request = MeasurementRequest(**asked)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=reason):
        keep_applicable(request, ranks)


@pytest.mark.parametrize(
    ("asked", "ranks"),
    [
        ({"budget": 60.0}, 2),
        ({"transport": "verbs", "patterns": ("latency", "get_latency:flush")}, 2),
        ({"memory": "cuda,host", "device": 1, "patterns": ("persistent_latency",)}, 2),
        ({"memory": "managed", "unpinned": True}, 2),
        ({"buffers": "single", "patterns": ("bandwidth", "put_bandwidth")}, 2),
        ({"buffers": "multiple", "check_data": True}, 4),
        ({"buffers": "fewest", "transport": "verbs"}, 2),
        ({"memory": "hip", "patterns": ("put_latency:fence", "threads_latency:2", "bcast")}, 2),
        ({"memory": "cuda", "patterns": ("alltoallv", "igather")}, 5),
        ({"concurrent": 3, "topology": "file", "budget": 60.0}, 4),
        ({"tool": "iperf3", "tool_path": "/opt", "parallel": 4, "profile": "full"}, 2),
        ({"tool": "rccl-tests", "concurrent": 3, "topology": "file"}, 4),
        ({"lab": OWN_LAB, "nodes": 4}, 4),
        ({"sim": "star:4", "sim_fault": ("rate a 0.5",), "sim_seed": 3}, 4),
        ({"resume": "latest", "lab": "other", "parallel": 8}, 0),
    ],
)
def test_an_option_with_an_effect_is_kept(asked: dict[str, object], ranks: int) -> None:
    request = MeasurementRequest(**asked)  # type: ignore[arg-type]
    assert keep_applicable(request, ranks) == request


def test_the_suites_of_pairs_agree_with_the_table_of_tools() -> None:
    assert {tool.name for tool in TOOLS.values() if tool.of_pairs} == {*SUITES}
    assert {tool.name for tool in TOOLS.values() if tool.kind == "pair"} == {*WITHOUT_MPI}
    assert {*INSIDE_NODES} == {*PROGRAMS}


def test_an_ssh_configuration_is_refused_for_a_launcher_without_ssh() -> None:
    request = MeasurementRequest(ssh_config="file")
    assert keep_applicable(request, 2, launcher="ssh") == request
    with pytest.raises(UsageError, match="--ssh-config has no effect on --launcher local"):
        keep_applicable(request, 2, launcher="local")


def test_a_file_s_options_for_other_commands_are_reset() -> None:
    request = MeasurementRequest(concurrent=8, budget=60.0)
    assert keep_applicable(request, 2, ("concurrent",)) == MeasurementRequest(budget=60.0)
    with pytest.raises(UsageError):
        keep_applicable(request, 2, ("budget",))


def test_a_stored_request_has_only_the_options_that_were_set() -> None:
    request = MeasurementRequest(lab=OWN_LAB, sizes=(0, 8), patterns=("latency",))
    text = msgspec.json.encode(request)
    assert text == b'{"lab":"(own)","patterns":["latency"],"sizes":[0,8]}'
    assert msgspec.json.decode(text, type=MeasurementRequest) == request


def test_a_resumption_takes_place_and_programs_from_its_own_command_line() -> None:
    stored = MeasurementRequest(
        nodelist="c[1-2]", launcher="ssh", profile="full", tool="iperf3", parallel=8, ppn=2
    )
    resuming = MeasurementRequest(resume="latest", lab="mine", tool="iperf3")
    merged = merge_resumed(resuming, stored)
    assert (merged.lab, merged.nodelist, merged.launcher, merged.tool) == ("mine", "", "", "iperf3")
    assert (merged.profile, merged.parallel, merged.ppn) == ("full", 8, 2)
    more = MeasurementRequest(resume="latest", tool="iperf3", parallel=3)
    assert merge_resumed(more, stored).parallel == 3
    with pytest.raises(UsageError, match="--parallel is for the programs of another suite"):
        merge_resumed(MeasurementRequest(resume="latest", parallel=3), MeasurementRequest())


STORED = MeasurementRequest(nodelist="c[1-2]", launcher="ssh", mpi="openmpi", profile="full")
WORDS = ("--nodelist", "c[1-2]", "--launcher", "ssh", "--mpi", "openmpi")


@pytest.mark.parametrize(
    ("options", "from_files", "is_enough"),
    [
        ({}, (), False),
        ({"mpi": "openmpi"}, (), False),
        ({"nodelist": "c[1-2]", "launcher": "ssh"}, (), False),  # another MPI would measure
        ({"nodelist": "c[1-2]", "launcher": "ssh", "mpi": "openmpi"}, (), True),
        ({"lab": "mine", "mpi": "mpich"}, (), True),  # the same nodes reached otherwise
        ({"nodelist": "c9", "mpi": "openmpi"}, ("nodelist", "mpi"), False),
        ({"nodelist": "c9", "launcher": "ssh", "mpi": "x"}, ("nodelist", "launcher", "mpi"), True),
    ],
)  # fmt: skip
def test_a_resumption_that_lacks_nodes_or_programs_is_shown_those_of_the_run(
    options: dict[str, str], from_files: tuple[str, ...], is_enough: bool
) -> None:
    request = MeasurementRequest(resume="latest", **options)  # type: ignore[arg-type]
    assert missing_place_words(request, STORED, from_files) == (() if is_enough else WORDS)


def test_a_run_without_a_stated_place_needs_none() -> None:
    resuming = MeasurementRequest(resume="latest")
    assert missing_place_words(resuming, MeasurementRequest(ppn=2, profile="full")) == ()


def test_the_place_of_a_run_is_described_as_options() -> None:
    stored = MeasurementRequest(lab=OWN_LAB, mpi="openmpi", rank_order=("c1", "c2"))
    assert describe_place(stored) == ("--lab", "--rank-order", "c1,c2", "--mpi", "openmpi")
