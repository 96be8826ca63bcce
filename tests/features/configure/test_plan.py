"""Order, evidence and consent of whole plans, of every backend."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.configure.sample import (
    BACKENDS,
    adapter,
    answered,
    drafted,
    interface,
    inventory,
    network,
    nodes,
    wish,
)

from fabricgauge.features.configure.description import Export, Head, Image, Mount, Services
from fabricgauge.features.configure.interface import checks, plan, questions
from fabricgauge.features.configure.job import Configuration, Reply, holds
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

EVERYTHING = {
    "head": Head(("librdmacm",), "unlimited"),
    "image": Image("/img/root", "compute", ("openmpi",), "unlimited",
                   (Mount("head:/opt/intel", "/opt/intel"),), ("rdma",)),
    "export": Export("/opt/intel", fsid=13),
    "services": (Services("c1", ("opensm",)),),
}  # fmt: skip


def titles(made: Configuration, *, todo: bool = False) -> list[str]:
    return [step.title for step in made.steps if not (todo and step.fulfilled)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_step_says_why_how_and_how_back(backend: str) -> None:
    made = plan(drafted(wish(backend, network(lane_mode="1x40"), **EVERYTHING)))
    for step in made.steps:
        assert step.title and step.reason
        assert step.undo or step.undo_note, step.title
        assert step.commands or step.verify or step.fulfilled
    assert made.backend == backend and len(made.steps) > 8


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_every_verification_confirms_is_left_out(backend: str) -> None:
    job = drafted(wish(backend, **EVERYTHING))
    first = plan(job)
    replies = {command: Reply(0, "") for command in checks(first)}
    for check in (check for step in first.steps for check in step.verify if not check.absent):
        if check.command in replies:
            so_far = replies[check.command].output
            replies[check.command] = Reply(0, f"{so_far}{check.expected}\n")
    made = plan(msgspec.structs.replace(job, replies=replies))
    assert titles(made, todo=True) == []


def test_an_unknown_backend_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no backend 'chef'; there is xcat, ip"):
        drafted(wish("chef"))


def test_the_image_is_packed_when_it_changes_and_only_then() -> None:
    job = drafted(wish("xcat", image=EVERYTHING["image"]))
    first = plan(job)
    order = titles(first)
    assert order.index("Pack the image compute") == 4
    assert order[-1].startswith("Restart c1, c2")
    restart = first.steps[-1]
    assert restart.consent == "reboot" and restart.commands[0].argv[0] == "pdsh"
    same = {check: Reply(0, "/\nenabled\n") for check in checks(first)}
    made = plan(msgspec.structs.replace(job, replies=same))
    assert not any(title.startswith(("Pack", "Restart")) for title in titles(made, todo=True))
    # broken off between a change and the packing: what changed is older than nothing packed
    (pack,) = [step for step in first.steps if step.title.startswith("Pack")]
    same[pack.verify[0].command] = Reply(0, "")
    made = plan(msgspec.structs.replace(job, replies=same))
    assert "Pack the image compute" in titles(made, todo=True)


def test_only_packages_that_were_missing_are_removed_again_and_nothing_along_with_them() -> None:
    job = drafted(wish("ip", head=Head(packages=("there", "missing"))))
    asked = {one: Reply(int(one.argv[-1] == "missing"), "") for one in questions(job)
             if one.argv[0] == "rpm"}  # fmt: skip
    (step, *_) = plan(msgspec.structs.replace(job, replies=asked)).steps
    assert [one.argv for one in step.undo] == [("rpm", "-e", "--", "missing")]
    (nobody_installed_it_since,) = step.before
    assert holds(nobody_installed_it_since, Reply(0, ""))
    assert not holds(nobody_installed_it_since, Reply(0, "there: missing\n"))
    (unasked, *_) = plan(job).steps
    assert unasked.undo == () and "none is removed" in unasked.undo_note


def test_lanes_that_hide_the_port_are_planned_alone() -> None:
    four = tuple(interface(f"enp97s0f{number}") for number in range(4))
    bus = "0000:61:00.0"
    known = (
        inventory("c1", *four, adapters=(adapter(bus, *[i.name for i in four], lanes="4x10"),)),
    )
    wanted = network(nodes=("c1",), interfaces={}, rate_bit_s=40e9)
    made = plan(drafted(wish("xcat", wanted), known))
    lanes, restart = made.steps
    assert lanes.commands[0].argv == ("qcu64e", "/NIC=1", "/SET", "1x40")
    assert lanes.undo[0].argv == ("qcu64e", "/NIC=1", "/SET", "4x10")
    assert lanes.verify[0].expected == "Current Configuration: 1x40\n"
    assert restart.consent == "reboot"
    assert made.notes[0].startswith("only the lanes are planned")


def test_an_image_that_runs_already_does_not_hide_the_restart_for_the_lanes() -> None:
    two = (network("a", subnet="10.1.0.0/24", first="10.1.0.1", suffix="-a"),
           network("b", subnet="10.2.0.0/24", first="10.2.0.1", suffix="-b",
                   interfaces={"c1": "eth0", "c2": "eth0"}))  # fmt: skip
    wide = tuple(msgspec.structs.replace(one, rate_bit_s=40e9) for one in two)
    known = tuple(
        msgspec.structs.replace(
            one, adapters=(adapter("0000:61:00.0", "enp97s0", "enp182s0", lanes="4x10"),)
        )
        for one in nodes()
    )
    image = Image("/img", osimage="img", services=("rdma",))
    job = drafted(wish("xcat", *wide, image=image), known)
    replies = {command: Reply(1, "") for command in questions(job)}
    replies |= {
        check.command: Reply(0, check.expected)
        for step in plan(job).steps if step.title.startswith("Restart")
        for check in step.verify if not check.absent
    }  # fmt: skip
    replies |= {one: Reply(0, "boot-c1\n") for one in replies if "boot_id" in one.argv[-1]}
    made = plan(msgspec.structs.replace(job, replies=replies))
    (restart,) = [step for step in made.steps if step.title.startswith("Restart")]
    assert not restart.fulfilled and any(check.absent for check in restart.verify)
    lanes = [step for step in made.steps if "QSFP+" in step.title]
    assert len(lanes) == 2  # one for each adapter, though two networks want it
    assert all(step.consent == "reboot" for step in lanes)


def test_a_limit_that_a_later_file_overrides_is_noted() -> None:
    job = drafted(wish("ip", head=Head(memlock="unlimited")))
    (later,) = [one for one in questions(job) if "/etc/security/limits.d" in one.argv]
    text = "@wheel hard memlock 64\n* hard memlock 65536 # somebody's\n"
    made = plan(msgspec.structs.replace(job, replies={later: Reply(0, text)}))
    noted = [note for note in made.notes if "limits.d" in note]
    assert len(noted) == 1 and "* hard memlock 65536 #" in noted[0]


def test_lanes_that_are_right_are_evidence() -> None:
    known = (inventory("c1", interface("enp97s0"),
                       adapters=(adapter("0000:61:00.0", "enp97s0", lanes="1x40"),)),)  # fmt: skip
    made = plan(drafted(wish("ip", network(nodes=("c1",), rate_bit_s=40e9)), known))
    assert made.steps[0].fulfilled == "qcu64e reports for c1: Current Configuration: 1x40"


def test_a_manager_where_its_fabric_is_not_is_noted() -> None:
    fabric = network("ib0", kind="omni-path")
    made = plan(drafted(wish("ip", fabric, services=(Services("", ("opafm",)),)), ()))
    assert any("opafm would run on the head, which has no port in ib0" in n for n in made.notes)
    made = plan(drafted(wish("ip", fabric, services=(Services("c1", ("opafm",)),)), ()))
    assert not any("opafm" in note for note in made.notes)


def test_a_service_that_runs_and_is_enabled_is_left() -> None:
    known = nodes()
    facts = {"service opensm": "enabled active"}
    known = (msgspec.structs.replace(known[0], facts=facts), known[1])
    made = plan(drafted(wish("ip", services=(Services("c1", ("opensm", "rdma")),)), known))
    assert made.steps[0].fulfilled == "opensm of c1 is enabled active"
    assert made.steps[1].commands[0].argv == ("systemctl", "enable", "--now", "rdma")


def put(command: Command) -> str:
    """The file that a command writes whole, if it does."""
    return command.argv[5] if command.argv[4:5] == ("put",) else ""


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["", "c1", "c2"]),
                  st.sampled_from(["/etc/hosts", "/etc/security/limits.conf", "/etc/exports",
                                   "/img/root/etc/security/limits.conf"])),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd"),
                max_size=60),
    ),
    st.sampled_from(BACKENDS),
)  # fmt: skip
def test_what_was_written_is_fulfilled_in_the_next_plan(
    files: dict[tuple[str, str], str], backend: str
) -> None:
    job = drafted(wish(backend, **EVERYTHING))
    try:
        first = plan(answered(job, files))
    except UsageError:
        return  # the exports file exports the directory otherwise
    after = dict(files)
    for step in first.steps:
        for command in step.commands:
            if path := put(command):
                after[command.node, path] = command.stdin
    second = plan(answered(job, after))
    written = [
        step for step in second.steps
        if not step.fulfilled and any(map(put, step.commands))
    ]  # fmt: skip
    assert written == []
