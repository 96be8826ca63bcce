"""Lines beside a table that name a transport, an error or the host: each counts for its table."""

import pytest

from fabricgauge.logs.readers.messages import ROWS, kind_of_message
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve

TABLE = (
    "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n65536  1110.1\n1048576  1150.4\n"
)
TCP = "[c1:01234] mca: bml: Using tcp btl for send to [[1,1],1] on node c2\n"
ERROR = (
    "[c1:1:0:1] ib_mlx5_log.c:179  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15)\n"
)


def kinds(text: str) -> list[list[str]]:
    """Of each table the kinds of its messages."""
    found = [one for one in read([text.encode()], "log") if isinstance(one, SuiteCurve)]
    return [[said.kind for said in one.evidence.messages] for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TCP + TABLE, [["tcp"]]),
        (TABLE, [[]]),
        (TCP + TABLE + TABLE, [["tcp"], []]),
        (TABLE + TCP + TABLE, [[], ["tcp"]]),
        (TABLE + ERROR, [["broken"]]),
        (TABLE + ERROR + TABLE, [["broken"], []]),
        (TABLE + TCP, [["tcp"]]),
        (ERROR + TABLE, [[]]),
    ],
)
def test_a_message_counts_for_the_table_that_it_belongs_to(
    text: str, expected: list[list[str]]
) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "UCX  WARN  network device 'mlx5_9:1' is not available, please use one or more of:"
        " 'eth0'(tcp), 'mlx5_0:1'(ib)",
        "UCX  INFO  0x1a2b self cfg#0 tag(self/memory0 tcp/eth0)",
        "[c1:01234] mca: bml: Using self btl for send to [[1,1],0] on node c1",
        "[0] MPI startup(): libfabric provider: mlx",
        "65536               1110.10",
    ],
)
def test_what_names_an_adapter_or_nothing_is_no_message(line: str) -> None:
    assert kind_of_message(line) is None


@pytest.mark.parametrize(("sign", "form"), [(sign, form) for _, sign, form in ROWS])
def test_a_row_s_sign_stands_for_its_form_or_makes_it_quick(sign: str, form: str) -> None:
    assert len(sign) > (2 if form else 20)


def test_messages_without_end_are_bounded() -> None:
    (found,) = kinds(TCP * 10_000 + TABLE)
    assert len(found) <= 64


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("mpirun -np 2 -x UCX_TLS=tcp ./osu_bw", "asked"),
        ("[root@c1 ~]# UCX_TLS=tcp,self,sm mpirun ./osu_bw", "asked"),
        ("UCX  INFO  UCX_* env variables: UCX_LOG_LEVEL=info UCX_TLS=tcp", "asked"),
        ("UCX_NET_DEVICES=ib0 ucx_perftest -t tag_bw c2", "asked"),
        ("mpirun --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include ib0 osu_bw", "asked"),
        ("mpirun --mca btl self,vader,tcp --mca pml ob1 osu_bw", "asked"),
        ("mpirun -genv I_MPI_FABRICS shm:tcp IMB-MPI1", "asked"),
        ("export FI_PROVIDER='tcp;ofi_rxm'", "asked"),
        ("mpirun -np 2 --host c1,c2 -x UCX_TLS=sm,self osu_bw", "memory"),
        ("export UCX_TLS=posix", "memory"),
        ("mpirun -genv UCX_TLS shm,self IMB-MPI1", "memory"),
        ("I_MPI_FABRICS=shm mpirun -ppn 1 -hosts c1,c2 osu_bw", "memory"),
        ("mpirun -genv I_MPI_FABRICS shm IMB-MPI1", "memory"),
        ("mpirun --mca pml ob1 --mca btl self,vader osu_bw", "memory"),
        ("mpirun -mca btl sm,self -mca pml ob1 osu_bw", "memory"),
        ("FI_PROVIDER=shm mpiexec -n 2 osu_bw", "memory"),
        ("UCX_TLS=sm,self,rc mpirun osu_bw", None), ("UCX_TLS=self osu_bw", None),
        ("UCX_TLS=sm,self,cuda_ipc mpirun osu_bw", None), ("# export UCX_TLS=sm,self", None),
        ("mpirun --mca pml ob1 --mca btl ^sm osu_bw", None),
        ("mpirun --mca btl self,vader osu_bw", None),  # UCX goes before ob1
        ("I_MPI_FABRICS=shm:ofi mpirun IMB-MPI1", None),
        ("FI_PROVIDER=shm,verbs mpiexec -n 2 osu_bw", None),
        ("UCX_TLS=rc,tcp mpirun ./osu_bw", None), ("UCX_TLS=tcp,rc mpirun ./osu_bw", None),
        ("UCX_TLS=^tcp mpirun ./osu_bw", None), ("# export UCX_TLS=tcp", None),
        ("UCX_NET_DEVICES=mlx5_0:1,ib0 mpirun osu_bw", None),
        ("UCX_NET_DEVICES=ibp65s0:1 mpirun osu_bw", None), ("UCX_NET_DEVICES=all osu_bw", None),
        ("mpirun --mca btl tcp,self osu_bw", None),  # UCX goes before ob1
        ("mpirun --mca pml ob1 --mca btl openib,tcp,self osu_bw", None),
        ("I_MPI_FABRICS=shm:ofi FI_PROVIDER=mlx mpirun IMB-MPI1", None),
        ("UCX  INFO  ep_cfg[0]: am(tcp/lo);", "tcp"),
        ("UCX  INFO  0x7590e0 inter-node cfg#1 tag(rc_mlx5/mlx5_0:1)", "remote"),
        ("UCX  INFO  0x7590e0 inter-node cfg#2 tag(tcp/ib0)", "tcp"),
        ("UCX  INFO  0x7590e0 intra-node cfg#1 tag(sysv/memory cma/memory)", "local"),
        ("[1.0] [c1:1:0] | 0x56 intra-node cfg#1 | tagged message by ucp_tag_send*", "local"),
    ],
)  # fmt: skip
def test_what_was_asked_for_and_what_the_library_connected(line: str, kind: str | None) -> None:
    assert kind_of_message(line) == kind


NEAR = "[1.0] [c1:1:0]  UCX  INFO  0x1 intra-node cfg#1 tag(sysv/memory cma/memory)\n"
FAR = "[1.0] [c1:1:0]  UCX  INFO  0x1 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)\n"


@pytest.mark.parametrize(
    ("text", "inside"), [(NEAR + TABLE, True), (NEAR + FAR + TABLE, False), (FAR + TABLE, False)]
)
def test_a_pair_that_the_library_connects_within_a_node(text: str, inside: bool) -> None:
    (curve,) = [one for one in read([text.encode()], "log") if isinstance(one, SuiteCurve)]
    assert bool(curve.inside_node) == inside


PAIRS = TABLE.replace("Bandwidth Test", "Multiple Bandwidth / Message Rate Test").replace(
    "# Size      Bandwidth (MB/s)", "# [ pairs: 2 ] [ window size: 64 ]\n# Size   MB/s"
)
MEMORY = "+ mpirun -np 2 --host c1,c2 -x UCX_TLS={} osu_bw\n"
ALL_REDUCE = """#                                                              out-of-place
#       size         count      type   redop    root     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    157.3    6.66   12.50      0
"""


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (MEMORY.format("sm,self") + TABLE, True),
        (MEMORY.format("sm,self") + PAIRS, True),
        (MEMORY.format("rc,sm,self") + TABLE, False),
        (MEMORY.format("sm,self") + FAR + TABLE, False),
        ("export UCX_TLS=sm,self\n" + ALL_REDUCE, False),  # NCCL does not use UCX
    ],
)
def test_a_setting_that_allows_only_shared_memory_keeps_the_bytes_inside_a_node(
    text: str, inside: bool
) -> None:
    (curve, *_) = [one for one in read([text.encode()], "log") if isinstance(one, SuiteCurve)]
    assert bool(curve.inside_node) == inside


SHELL = "+ export UCX_TLS=tcp\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHELL + TABLE + TABLE, [["asked"], ["asked"]]),
        (TABLE + SHELL + TABLE, [[], ["asked"]]),
        (SHELL + TABLE + "+ export UCX_TLS=rc\n" + TABLE, [["asked"], []]),
        (SHELL + TABLE + "+ unset UCX_TLS\n" + TABLE, [["asked"], []]),
        (SHELL + "+ mpirun -np 2 -x UCX_TLS=rc osu_bw\n" + TABLE, [[]]),
        ("+ mpirun -np 2 -x UCX_TLS=tcp osu_bw\n" + TABLE + TABLE, [["asked"], []]),
    ],
)
def test_a_shell_s_setting_counts_for_all_tables_until_it_is_set_again(
    text: str, expected: list[list[str]]
) -> None:
    assert kinds(text) == expected


def test_a_setting_of_the_command_counts_for_a_rank_s_labelled_lines() -> None:
    labelled = "".join(f"[1,0]<stdout>:{line}" for line in TABLE.splitlines(keepends=True))
    assert kinds(MEMORY.format("sm,self") + labelled) == [["memory"]]


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: Node failure on c2",
        "srun: error: c2: task 1: Segmentation fault (core dumped)",
        "srun: error: c[1-2]: tasks 0-1: Killed",
        "ORTE has lost communication with a remote daemon.",
        "PRTE has lost communication with a remote daemon.",
        "[c2:04711] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,",
        "[c2:04711] *** An error occurred in MPI_Waitall",
        "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
        "Abort(1) on node 1 (rank 1 in comm 0): Internal error",
        "MPICH ERROR [Rank 0] [job id 1.0] [nid1] - Abort(80) (rank 0 in comm 0): Fatal error",
        "Fatal error in PMPI_Waitall: Other MPI error, error stack:",
        "Assertion failed in file src/mpid/ch4/netmod/ofi/ofi_events.c at line 123: 0",
    ],
)
def test_an_error_behind_a_whole_table_breaks_its_run(line: str) -> None:
    assert kinds(f"{TABLE}{line}\n") == [["broken"]]
    assert kinds(f"{line}\n{TABLE}") == [[]]  # of an earlier run


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("srun: job 64104941 has been allocated resources", None),
        ("srun: error: Unable to allocate resources: Requested node configuration", None),
        (
            "PSM2 was unable to open an endpoint. Please make sure that the network link is",
            "fallback",
        ),
        ("c1.4711PSM2 can't open hfi unit: -1 (err=23)", "fallback"),
        (
            "c1.12345hfi_userinit: assign_context command failed: Device or resource busy",
            "fallback",
        ),
        ("c1.4711 PSM2 initialized on hfi unit 0", None),
    ],
)
def test_launchers_and_adapters_messages(line: str, kind: str | None) -> None:
    assert kind_of_message(line) == kind


@pytest.mark.parametrize(
    "line",
    [
        "UCX  INFO  ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)",
        "[c1:01234] mca: bml: Using openib btl for send to [[1,1],1] on node c2",
    ],
)
def test_an_adapter_of_another_node_s_rank_means_two_nodes(line: str) -> None:
    assert kind_of_message(line) == "remote"
