"""The exact command lines, for each stack behind each launcher."""

from pathlib import Path

import msgspec
import pytest

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import Host, HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.nodes.launch.launchers import local, slurm, ssh
from fabricgauge.nodes.launch.mpi_impls import MPI_IMPLS, command, mpi_impl_of

MPIS = {
    "mpich": Mpi("mpich", "5.0.2", Path("/m/bin/mpicxx"), Path("/m/bin/mpiexec")),
    "openmpi4": Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicxx"), Path("/usr/bin/mpirun.openmpi")),
    "openmpi5": Mpi("openmpi", "5.0.11", Path("/o/bin/mpicxx"), Path("/o/bin/mpirun")),
    "intelmpi": Mpi("intelmpi", "2021.17", Path("/i/bin/mpicxx"), Path("/i/bin/mpiexec.hydra")),
}
REACHES = {
    "lab": HostAccess(
        "lab",
        (Host("c1", ("in", "c1")), Host("c2", ("in", "c2"))),
        ("in", "head"),
        "/l/agent",
        True,
    ),
    "ssh": ssh.access(("c1", "c2"), ("-p", "2222")),
    "local": local.access(("here",)),
    "slurm": slurm.access("7", ("c1", "c2"), "slurm"),
    "srun": slurm.access("7", ("c1", "c2"), "srun"),
}
SRUN = "srun --mpi={} --nodes=2 --ntasks=2 --distribution=arbitrary --nodelist={} --cpu-bind=cores"
SRUN_ENDS = "--input=0 --kill-on-bad-exit=1 ENGINE"
LAUNCHES = {
    "pinned": PlannedLaunch(1, "net1", "10.77.0.0/24", ("c1", "c2"), ()),
    "free": PlannedLaunch(1, None, None, ("c1", "c2"), ()),
    "loopback": PlannedLaunch(1, "loopback:c1", "127.0.0.0/8", ("c1", "c1"), ()),
    "back": PlannedLaunch(1, "net1", "10.77.0.0/24", ("c2", "c1"), ()),
    "onenode": PlannedLaunch(1, "net1", "10.77.0.0/24", ("c1", "c1"), ()),
    **{
        technology: PlannedLaunch(
            1, technology, None, ("c1", "c2"), (), ports=ports, technology=technology
        )
        for technology, ports in {
            "infiniband": ("mlx5_0:1", "mlx5_1:1"),
            "roce-v2": ("mlx5_2:1",),
            "omni-path": ("hfi1_1:1",),
            "efa": ("rdmap16s27:1", "rdmap32s27:1"),
            "slingshot": ("cxi0:1",),
        }.items()
    },
}
SSH = "ssh -a -x -o BatchMode=yes -o ConnectTimeout=5 -p 2222"
MPICH_PIN = "--pin 10.77.0.0/24 --interface-env UCX_NET_DEVICES --interface-env FI_TCP_IFACE"
BTL = "--mca pml ob1 --mca btl tcp,self,{} --mca btl_tcp_if_include 10.77.0.0/24"
LO = "--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo"
X = "-x FABRICGAUGE_CHILD"
RSH4, SSH5 = "--mca plm rsh --mca plm_rsh_agent", "--prtemca plm ssh --prtemca plm_ssh_agent"

#: With it hydra_pmi_proxy writes no file into /tmp.
NO_FILE = {"HWLOC_XMLFILE": ""}

BESIDE_STEPS = {"SLURM_OVERLAP": "1"}

EXPECTED = {
    ("mpich", "lab", "pinned"): "in head /m/bin/mpiexec -launcher ssh -launcher-exec /l/agent "
    f"-hosts c1:1,c2:1 -n 2 -bind-to none ENGINE {MPICH_PIN} --check-data",
    ("mpich", "lab", "free"): "in head /m/bin/mpiexec -launcher ssh -launcher-exec /l/agent "
    "-hosts c1:1,c2:1 -n 2 -bind-to none ENGINE --check-data",
    ("mpich", "lab", "loopback"): "in head /m/bin/mpiexec -launcher ssh -launcher-exec /l/agent "
    "-hosts c1:2 -n 2 -bind-to none ENGINE --check-data",
    ("mpich", "lab", "onenode"): "in head /m/bin/mpiexec -launcher ssh -launcher-exec /l/agent "
    f"-hosts c1:2 -n 2 -bind-to none ENGINE {MPICH_PIN} --check-data",
    ("mpich", "ssh", "pinned"): "/m/bin/mpiexec -launcher ssh "
    f"-hosts c1:1,c2:1 -n 2 -bind-to core ENGINE {MPICH_PIN} --check-data",
    ("mpich", "ssh", "loopback"): "/m/bin/mpiexec -launcher ssh -hosts c1:2 -n 2 -bind-to none "
    "ENGINE --check-data",
    ("mpich", "local", "free"): "/m/bin/mpiexec -launcher fork -n 2 -bind-to none "
    "ENGINE --check-data",
    ("openmpi4", "lab", "pinned"): f"in head /usr/bin/mpirun.openmpi {RSH4} /l/agent --host "
    f"c1:1,c2:1 --map-by slot -n 2 --bind-to none {X} {BTL.format('vader')} --mca osc pt2pt "
    "ENGINE --pin 10.77.0.0/24 --check-data",
    ("openmpi4", "lab", "loopback"): f"in head /usr/bin/mpirun.openmpi {RSH4} /l/agent --host "
    f"c1:2 --map-by slot -n 2 --bind-to none {X} {LO} --mca osc pt2pt ENGINE --check-data",
    ("openmpi4", "ssh", "free"): f"/usr/bin/mpirun.openmpi {RSH4} [{SSH}] --host c1:1,c2:1 "
    f"--map-by slot -n 2 --bind-to core {X} --mca osc pt2pt ENGINE --check-data",
    ("openmpi4", "local", "free"): "/usr/bin/mpirun.openmpi --oversubscribe -n 2 --bind-to none "
    f"{X} --mca osc pt2pt ENGINE --check-data",
    ("openmpi5", "lab", "pinned"): f"in head /o/bin/mpirun --prefix /o {SSH5} /l/agent --host "
    f"c1:1,c2:1 --map-by slot -n 2 --bind-to none {X} {BTL.format('sm')} --mca osc rdma "
    "ENGINE --pin 10.77.0.0/24 --check-data",
    ("openmpi5", "ssh", "pinned"): f"/o/bin/mpirun --prefix /o {SSH5} [{SSH}] --host c1:1,c2:1 "
    f"--map-by slot -n 2 --bind-to core {X} {BTL.format('sm')} --mca osc rdma "
    "ENGINE --pin 10.77.0.0/24 --check-data",
    ("openmpi5", "local", "free"): "/o/bin/mpirun --prefix /o --map-by :OVERSUBSCRIBE -n 2 "
    f"--bind-to none {X} ENGINE --check-data",
    ("mpich", "slurm", "pinned"): "/m/bin/mpiexec -launcher slurm "
    f"-hosts c1:1,c2:1 -n 2 -bind-to core ENGINE {MPICH_PIN} --check-data",
    ("openmpi4", "slurm", "free"): "/usr/bin/mpirun.openmpi --mca plm slurm --host c1:1,c2:1 "
    f"--map-by slot -n 2 --bind-to core {X} --mca osc pt2pt ENGINE --check-data",
    ("openmpi5", "slurm", "back"): "/o/bin/mpirun --prefix /o --prtemca plm slurm --host c2:1,c1:1 "
    f"--map-by slot -n 2 --bind-to core {X} {BTL.format('sm')} --mca osc rdma "
    "ENGINE --pin 10.77.0.0/24 --check-data",
    ("intelmpi", "slurm", "free"): "/i/bin/mpiexec.hydra -launcher slurm -hosts c1,c2 -ppn 1 -n 2 "
    "ENGINE --check-data",
    ("mpich", "srun", "back"): f"{SRUN.format('pmi2', 'c2,c1')} {SRUN_ENDS} {MPICH_PIN} "
    "--check-data",
    ("openmpi4", "srun", "pinned"): f"{SRUN.format('pmix', 'c1,c2')} {SRUN_ENDS} "
    "--pin 10.77.0.0/24 --check-data",
    ("intelmpi", "srun", "loopback"): "srun --mpi=pmi2 --nodes=1 --ntasks=2 "
    f"--distribution=arbitrary --nodelist=c1,c1 --cpu-bind=none {SRUN_ENDS} --check-data",
}  # fmt: skip


def built(mpi_impl: str, launcher: str, launch: str) -> LaunchCommand:
    mpi = MPIS[mpi_impl]
    engine = Engine(Path("/e ngine/$x"), mpi, "id", (), "g++")
    return command(engine, LAUNCHES[launch], REACHES[launcher], ("--check-data",))


def words(text: str, mpi: Mpi, launch: str) -> tuple[str, ...]:
    """The argv: words at spaces, [a b] one word, ENGINE the engine's hostile path.

    In front of that are the variables by which the MPI says what it uses, and those that a
    launch on a network does without.
    """
    outside = text.replace("]", "[").split("[")
    split = [part.split() if number % 2 == 0 else [part] for number, part in enumerate(outside)]
    mpi_impl = mpi_impl_of(mpi)
    unset = [word for k in mpi_impl.conflicting_variables for word in ("-u", k) if launch != "free"]
    engine = (
        "env",
        *unset,
        *(f"{k}={v}" for k, v in mpi_impl.verbose_variables.items()),
        "/e ngine/$x",
    )
    found = ((*engine,) if word == "ENGINE" else (word,) for part in split for word in part)
    return tuple(word for each in found for word in each)


@pytest.mark.parametrize("case", EXPECTED, ids="-".join)
def test_the_command_line_is_as_written_down(case: tuple[str, str, str]) -> None:
    assert built(*case).argv == words(EXPECTED[case], MPIS[case[0]], case[2])


def test_mpich_is_kept_to_tcp_when_it_is_pinned_and_left_alone_when_not() -> None:
    env = built("mpich", "lab", "pinned").env
    assert (env["UCX_TLS"], env["FI_PROVIDER"]) == ("tcp,self,sm", "tcp")
    assert "UCX_TCP_AF_PRIO" not in env
    assert built("mpich", "lab", "free").env == NO_FILE


def test_proxies_on_this_machine_write_no_topology_file_and_others_are_left_alone() -> None:
    for launcher, launch in (("lab", "pinned"), ("lab", "loopback"), ("local", "free")):
        assert NO_FILE.items() <= built("mpich", launcher, launch).env.items()
    for launcher in ("ssh", "slurm", "srun"):
        assert not NO_FILE.keys() & built("mpich", launcher, "pinned").env.keys()


def test_mpich_may_use_an_address_on_a_bridge() -> None:
    env = built("mpich", "lab", "pinned").env
    assert env["UCX_TCP_BRIDGE_ENABLE"] == "y"
    assert env["UCX_WARN_UNUSED_ENV_VARS"] == "n"  # versions without that variable


def test_mpich_has_no_shared_memory_over_loopback() -> None:
    env = built("mpich", "lab", "loopback").env
    assert env["MPIR_CVAR_NOLOCAL"] == "1"
    assert "sm" not in env["UCX_TLS"].split(",")
    assert env["FI_TCP_IFACE"] == "lo"


def test_hydra_hands_the_ssh_options_on() -> None:
    env = built("mpich", "ssh", "free").env
    assert env == {"HYDRA_LAUNCHER_EXTRA_ARGS": SSH.removeprefix("ssh ")}


def test_open_mpi_may_run_as_root_of_a_lab() -> None:
    for mpi_impl in ("openmpi4", "openmpi5"):
        env = built(mpi_impl, "lab", "pinned").env
        assert env == {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def test_ranks_of_srun_are_pinned_by_variables_alone() -> None:
    assert built("openmpi4", "srun", "pinned").env == {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self,vader",
        "OMPI_MCA_btl_tcp_if_include": "10.77.0.0/24",
        "OMPI_MCA_osc": "pt2pt",
        **BESIDE_STEPS,
    }
    pinned = built("mpich", "ssh", "pinned").env
    of_ssh = pinned.keys() - {"HYDRA_LAUNCHER_EXTRA_ARGS"}
    pins = {name: pinned[name] for name in of_ssh}
    assert built("mpich", "srun", "pinned").env == {**pins, **BESIDE_STEPS}
    assert built("intelmpi", "srun", "pinned").env["FI_PROVIDER"] == "tcp"


#: On networks of RDMA ports, beside UCX's.
OF_PORTS = {
    "infiniband": {"FI_PROVIDER": "verbs;ofi_rxm"},
    "roce-v2": {"FI_PROVIDER": "verbs;ofi_rxm", "FI_VERBS_DEVICE_NAME": "mlx5_2"},
    "omni-path": {"FI_PROVIDER": "opx,psm2", "HFI_UNIT": "1", "FI_OPX_HFI_SELECT": "1"},
    "efa": {"FI_PROVIDER": "efa", "FI_EFA_IFACE": "rdmap16s27,rdmap32s27"},
    "slingshot": {"FI_PROVIDER": "cxi", "FI_CXI_DEVICE_NAME": "cxi0"},
}


@pytest.mark.parametrize("technology", OF_PORTS)
def test_an_mpi_is_kept_to_the_ports_of_a_network_and_off_tcp(technology: str) -> None:
    ports = LAUNCHES[technology].ports
    ucx = {"UCX_NET_DEVICES": ",".join(ports), "UCX_MAX_RNDV_RAILS": str(len(ports))}
    expected = {**ucx, **OF_PORTS[technology]}
    assert built("mpich", "lab", technology).env == {**expected, **NO_FILE}
    for launcher in ("lab", "srun"):
        own = built("openmpi5", launcher, technology)
        assert expected.items() <= own.env.items()
        told = " ".join(own.argv) + str(own.env)
        assert "^ob1" in told
        assert "^tcp" in told
        assert "--pin" not in told
    argv = built("openmpi4", "lab", technology).argv
    assert {argv[n + 1] for n, word in enumerate(argv) if word == "-x"} >= set(expected)


def test_intel_mpi_takes_its_own_provider_over_ucx_where_verbs_would_do() -> None:
    assert built("intelmpi", "lab", "infiniband").env["FI_PROVIDER"] == "mlx,verbs"
    assert built("intelmpi", "lab", "efa").env["FI_PROVIDER"] == "efa"


def test_what_contradicts_the_network_is_unset_unless_it_is_asked_for() -> None:
    asked = (("I_MPI_OFI_PROVIDER", "tcp"),)
    access = msgspec.structs.replace(REACHES["lab"], variables=asked)
    engine = Engine(Path("/engine"), MPIS["intelmpi"], "id", (), "g++")
    argv = command(engine, LAUNCHES["pinned"], access, ()).argv
    assert "I_MPI_OFI_PROVIDER=tcp" in argv
    assert "-u" not in argv
    usual = built("intelmpi", "lab", "pinned").argv
    assert usual[usual.index("-u") + 1] == "I_MPI_OFI_PROVIDER"


def test_hydras_proxies_are_started_without_slurms_own_pmi() -> None:
    for mpi_impl in ("mpich", "intelmpi"):
        assert built(mpi_impl, "slurm", "free").env["SLURM_MPI_TYPE"] == "none"
        assert "SLURM_MPI_TYPE" not in built(mpi_impl, "srun", "free").env


@pytest.mark.parametrize("mpi_impl", ["mpich", "intelmpi"])
def test_hydra_by_slurm_refuses_an_order_that_it_would_not_keep(mpi_impl: str) -> None:
    with pytest.raises(CannotRun, match="--launcher srun"):
        built(mpi_impl, "slurm", "back")


@pytest.mark.parametrize("mpi_impl", MPIS)
@pytest.mark.parametrize("launcher", ["lab", "srun"])
def test_open_mpi_alone_refuses_a_network_of_ipv6(mpi_impl: str, launcher: str) -> None:
    launch = PlannedLaunch(1, "net6", "fd00:77::/64", ("c1", "c2"), ())
    engine = Engine(Path("/engine"), MPIS[mpi_impl], "id", (), "g++")
    try:
        assert "fd00:77::/64" in command(engine, launch, REACHES[launcher], ()).argv
    except CannotRun as error:
        assert MPIS[mpi_impl].kind == "openmpi"
        assert "net6 (fd00:77::/64)" in str(error)
        assert "--mpi mpich" in str(error)
    else:
        assert MPIS[mpi_impl].kind != "openmpi"


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("c1 c1 c2 c2", "-hosts c1,c2 -ppn 2"),
        ("c1 c2 c1 c2", "-hosts c1,c2,c1,c2 -ppn 1"),
        ("c1 c1 c2", "-hosts c1,c1,c2 -ppn 1"),
        ("c2 c1 c1", "-hosts c2,c1,c1 -ppn 1"),
    ],
)
def test_intel_mpi_is_told_the_node_of_each_rank_in_any_order(nodes: str, words: str) -> None:
    launch = PlannedLaunch(1, "net1", "10.77.0.0/24", tuple(nodes.split()), ())
    engine = Engine(Path("/engine"), MPIS["intelmpi"], "id", (), "icpx")
    argv = command(engine, launch, REACHES["ssh"], ()).argv
    assert f" {words} -n {len(launch.nodes)} " in " ".join(argv)


@pytest.mark.parametrize("mpi_impl", MPIS)
@pytest.mark.parametrize("launcher", [one for one in REACHES if one != "srun"])
@pytest.mark.parametrize("launch", [one for one in LAUNCHES if one != "back"])
def test_every_launch_has_a_rank_per_node_entry_and_the_engine_as_one_word(
    mpi_impl: str, launcher: str, launch: str
) -> None:
    argv = built(mpi_impl, launcher, launch).argv
    assert argv[argv.index("-n") + 1] == "2"
    assert argv.count("/e ngine/$x") == 1
    assert argv[-1] == "--check-data"


def test_ranks_that_share_a_node_are_never_bound_to_one_core() -> None:
    for mpi_impl in ("mpich", "openmpi4", "openmpi5"):
        for launch in ("loopback", "onenode"):
            argv = built(mpi_impl, "ssh", launch).argv
            at = next(k for k, word in enumerate(argv) if word.endswith("-bind-to"))
            assert argv[at + 1] == "none"


def test_an_mpi_without_a_module_says_which_have_one() -> None:
    mpi = Mpi("cray", "8.1", Path("/i/mpiicpc"), Path("/i/mpiexec"))  # type: ignore[arg-type]
    engine = Engine(Path("/e"), mpi, "id", (), "icpc")
    assert "cray" not in MPI_IMPLS
    with pytest.raises(CannotRun, match="intelmpi, mpich, openmpi"):
        command(engine, LAUNCHES["free"], REACHES["local"], ())


@pytest.mark.parametrize("mpi_impl", MPIS)
def test_sockets_on_one_node_connect_over_its_loopback(mpi_impl: str) -> None:
    engine = Engine(Path("/engine"), MPIS[mpi_impl], "id", (), "g++")
    launch = msgspec.structs.replace(LAUNCHES["loopback"], subnet=None)
    by_sockets = command(engine, launch, REACHES["local"], ("--transport", "sockets")).argv
    assert by_sockets[by_sockets.index("--pin") + 1] == "127.0.0.0/8"
    assert "--pin" not in command(engine, launch, REACHES["local"], ()).argv
