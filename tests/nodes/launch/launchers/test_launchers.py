from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.launch.launchers import LAUNCHERS, launcher_of, local, nodes, slurm, ssh

HOSTILE = ["-oProxyCommand=touch /x", "a;b", "$(id)", "a b", "a|b", "c1:2", "a/b", "é", "a\nb", ""]


def test_node_sets_expand_and_exclude() -> None:
    assert nodes.expand("c[1-4],d2", "c[2-3]") == ("c1", "c4", "d2")
    assert nodes.expand("c[01-02]") == ("c01", "c02")


@pytest.mark.parametrize("text", ["c[1-", "c[3-1]", "c1,,c2", "", "@no_such_source:g", *HOSTILE])
def test_a_bad_node_set_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        nodes.expand(text)


@pytest.mark.parametrize(
    "name", ["x'$(touch {})'", "x;touch {}", "x&touch {}", "x\ntouch {}", "-x"]
)
@pytest.mark.parametrize("where", ["@{}", "@local:{}", "c1,@{}", "c[1-2]!@x[1&{}"])
def test_no_group_is_a_command(where: str, name: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(UsageError):
        nodes.expand(where.format(name.format(mark)))
    assert not mark.exists()


def test_a_file_may_name_the_nodes(tmp_path: Path) -> None:
    file = tmp_path / "hosts file"
    file.write_text("# ours\nc[1-2]\nd1 slots=4 # old\n\nd2:8\n")
    assert nodes.expand(f"^{file}", "d2") == ("c1", "c2", "d1")
    with pytest.raises(UsageError, match="cannot read the nodes"):
        nodes.expand(f"^{file}.none")
    file.write_text("c1\n$(touch x)\n")
    with pytest.raises(UsageError, match="hold only letters"):
        nodes.expand(f"^{file}")


@pytest.mark.parametrize(
    "text",
    [
        "c[1-9999999]", "c[0-99999999999999999999]", "c[1-1000]n[1-1000]", "c1,d[1-999999]",
        "c[1-9,1-9999999]", "x!c[1-9999999]", "c[1-9999999]&c1", "999999[9-10]",
        "c99999999[8,9,10]", "6[1-9999]c[1-4]",
    ],
)  # fmt: skip
def test_a_range_of_millions_is_refused_before_it_is_spelled_out(text: str) -> None:
    with pytest.raises(UsageError, match="stands for more than 131,072 nodes"):
        nodes.expand(text)


def test_a_large_cluster_and_what_only_looks_large_are_expanded() -> None:
    assert len(nodes.expand("r[1-100]n[1-1000]")) == 100_000
    assert {*nodes.expand("c12345678901234567890[1-2],c6[8-9]7,d9[1,12]")} == {
        "c123456789012345678901", "c123456789012345678902", "c687", "c697", "d91", "d912",
    }  # fmt: skip
    assert nodes.expand("c[1-9,20-22/2],d1") == (
        *(f"c{i}" for i in range(1, 10)),
        "c20",
        "c22",
        "d1",
    )


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin", "PIPE", "LONG"])
def test_a_file_of_nodes_that_never_ends_is_refused(file: str, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "PIPE")
    with (tmp_path / "LONG").open("wb") as long:
        long.truncate(1 << 40)
    with pytest.raises(UsageError, match="cannot read the nodes"):
        nodes.expand(f"^{tmp_path / file}")


def test_blanks_around_operators_are_nothing() -> None:
    assert nodes.expand(" c[1-3] ! c2 , d1 ") == ("c1", "c3", "d1")


def test_excluding_everything_says_so() -> None:
    with pytest.raises(UsageError, match="no node remains in .c1. without .c1."):
        nodes.expand("c1", "c1")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_hosts_is_refused_by_each_launcher(name: str) -> None:
    with pytest.raises(UsageError):
        ssh.access((name,))
    with pytest.raises(UsageError):
        local.access((name,))


@settings(deadline=None)
@given(st.text(max_size=20))
def test_whatever_is_accepted_cannot_be_an_option_or_shell_syntax(name: str) -> None:
    try:
        host = ssh.access((name,)).hosts[0]
    except UsageError:
        return
    assert host.prefix[-2:] == ("--", name)
    assert name[0].isalnum() or name[0] == "_"
    assert all(sign.isalnum() or sign in "._-" for sign in name)


def test_ssh_never_asks_and_gives_up_soon() -> None:
    access = ssh.access(("c1", "c2"), ("-p", "2222"))
    assert access.agent == "ssh"
    assert access.hosts[1].through(["sh", "-s"]) == [
        "ssh", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-p", "2222", "--",
        "c2", "sh -s",
    ]  # fmt: skip
    assert access.agent_options == access.hosts[0].prefix[1:-2]


@pytest.mark.parametrize("word", ["", "-o ProxyCommand=x y", "a\tb"])
def test_an_ssh_option_that_a_launcher_would_split_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="ssh/config"):
        ssh.access(("c1",), (word,))


def test_the_local_launcher_puts_nothing_in_front() -> None:
    access = local.access(("here",))
    assert (access.launcher, access.agent, access.virtual) == ("local", None, False)
    assert access.hosts[0].through(["true"]) == ["true"]


IN_JOB = {"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "c[1-2],d7"}


def set_only(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Slurm's variables of a job are these and no others."""
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_an_allocation_is_read_from_slurms_variables() -> None:
    assert slurm.allocation(IN_JOB) == ("12", ("c1", "c2", "d7"))
    assert slurm.allocation({}) is None
    assert slurm.allocation({"SLURM_JOB_ID": "12"}) is None
    assert slurm.allocation({**IN_JOB, "SLURM_JOB_ID": "$(id)"}) is None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_list_of_nodes_that_slurm_cannot_have_written_is_refused(name: str) -> None:
    if name:
        with pytest.raises(UsageError):
            slurm.allocation({**IN_JOB, "SLURM_JOB_NODELIST": name})


def test_a_door_of_an_allocation_is_a_step_on_that_node(monkeypatch: pytest.MonkeyPatch) -> None:
    set_only(monkeypatch, IN_JOB)
    (host,) = slurm.reach(MeasurementRequest(nodelist="c2"), "srun").hosts
    assert {"--jobid=12", "--nodelist=c2", "--ntasks=1", "--overlap"} <= set(host.prefix)
    assert not host.remote_shell
    with pytest.raises(UsageError, match="job 12 has no node 'c3'"):
        slurm.reach(MeasurementRequest(nodelist="c3"), "srun")


ALLOCATION = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "c[1-3]"}


def usual(nodelist: str) -> list[str]:
    request = MeasurementRequest(nodelist=nodelist)
    return [name for name in LAUNCHERS if launcher_of(name).is_usual(request)]


def test_the_last_launcher_that_fits_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    set_only(monkeypatch, {})
    assert usual("") == ["local"]
    assert usual("c1") == ["ssh"]
    set_only(monkeypatch, ALLOCATION)
    assert usual("c1")[-1] == "slurm" == usual("")[-1]
    assert usual("d1") == ["ssh"]


@pytest.mark.parametrize("name", [name for name in LAUNCHERS if name != "job"])
def test_a_launcher_reaches_hosts_under_its_own_name(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_only(monkeypatch, ALLOCATION)
    access = launcher_of(name).reach(MeasurementRequest(nodelist="c[1-2]", exclude="c2"))
    assert (access.launcher, access.nodes) == (name, ("c1",))


def test_each_launchers_module_is_in_the_list_once() -> None:
    launchers = Path(slurm.__file__).parent.glob("*.py")
    modules = [one.stem for one in launchers if "\nLAUNCHER = " in one.read_text()]
    assert sorted(modules) == sorted(LAUNCHERS)


def test_a_great_many_blanks_are_refused_as_few_are() -> None:
    """Found by python -m tests.fuzz: each blank was tried as the first of all that follow."""
    with pytest.raises(UsageError, match="names of hosts and groups"):
        nodes.expand(f"c1{' ' * 300_000}c2")
    assert nodes.expand("c1   ,  c2 ! c1") == ("c2",)


def test_names_between_a_great_many_operators_are_counted_as_few_are() -> None:
    """Found by python -m tests.fuzz: from each operator on, all that follows was looked through."""
    with pytest.raises(UsageError, match="stands for more than 131,072 nodes"):
        nodes.expand(f"{'c^' * 300_000}c[1-9999999]")
    assert nodes.expand("c[1-3,5]^c[3,6]") == ("c1", "c2", "c5", "c6")
