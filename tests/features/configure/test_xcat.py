"""Test plans for xCAT against what its tables hold already."""

import msgspec
import pytest
from tests.features.configure.sample import drafted, network, nodes, wish

from fabricgauge.features.configure.interface import plan, questions
from fabricgauge.features.configure.job import (
    Configuration,
    Draft,
    Reply,
    Step,
    Verification,
    holds,
)
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command


def answered(lsdef: dict[str, str], suffix: str = "-eth40") -> Draft:
    """Each question of lsdef is answered by the attributes that it asks for, the last word."""
    job = drafted(wish("xcat", network(suffix=suffix)), nodes())
    replies = {
        question: Reply(0, lsdef.get(question.argv[-1], ""))
        if question.argv[0] == "lsdef" else Reply(1, "")
        for question in questions(job) if question.argv[0] != "ip"
    }  # fmt: skip
    return msgspec.structs.replace(job, replies=replies)


def step(made: Configuration, title: str) -> Step:
    (found,) = [one for one in made.steps if one.title.startswith(title)]
    return found


def test_a_network_of_that_name_elsewhere_is_not_moved() -> None:
    """It may be the one that the nodes are installed over."""
    other = "Object name: net40\n    mask=255.255.255.0\n    net=10.10.1.0\n"
    with pytest.raises(UsageError, match="xCAT has a network net40 of 10.10.1.0 already"):
        plan(answered({"-l": other}))
    wide = "Object name: net40\n    mask=255.0.0.0\n    net=10.10.40.0\n"  # the guide's
    assert not step(plan(answered({"-l": wide})), "Define the network net40").fulfilled


def test_what_a_definition_overwrites_is_shown() -> None:
    nics = "Object name: c1\n    nicips.enp97s0=10.20.0.5\n    nictypes.enp97s0=Ethernet\n"
    made = plan(answered({"nicips,nicnetworks,nictypes,nichostnamesuffixes": nics}))
    assert step(made, "Give c1").reason.endswith("; xCAT has nicips.enp97s0=10.20.0.5")
    assert "xCAT has" not in step(made, "Give c2").reason


def test_a_postscript_with_options_is_not_added_twice() -> None:
    held = "".join(f"Object name: {node}\n    postscripts=syslog,confignetwork -s\n"
                   for node in ("c1", "c2"))  # fmt: skip
    made = plan(answered({"postscripts": held}))
    assert step(made, "Have nodes configure").fulfilled
    like = held.replace("confignetwork -s", "confignetwork-ours")
    assert not step(plan(answered({"postscripts": like})), "Have nodes configure").fulfilled


def test_the_interface_that_nodes_were_installed_by_is_written_with_consent_only() -> None:
    for job in (answered({}), drafted(wish("xcat"), nodes())):
        made = plan(job)
        update = step(made, "Configure the interfaces of the running nodes")
        assert update.consent == "management" and "were installed by anew" in update.reason
        assert not [one for one in made.steps if one.consent and one is not update]


def test_a_suffix_that_makehosts_refuses_is_refused() -> None:
    with pytest.raises(UsageError, match="no suffix with a dot, and net40 has .eth40"):
        plan(answered({}, suffix=".eth40"))


def test_each_plan_has_copies_of_the_hosts_file_of_its_own() -> None:
    """Of two plans the first to be undone must not put back what the second found."""
    copies = [step(plan(answered({}, suffix)), "Write the names").undo[0].argv[-2:]
              for suffix in ("-eth40", "-other")]  # fmt: skip
    assert len({name for pair in copies for name in pair}) == 4


def test_names_are_verified_with_their_whole_address() -> None:
    made = plan(answered({}))
    getent, *_ = step(made, "Write the names").verify
    lookup, *_ = step(made, "Let the head's name server").verify
    shown = "10.10.40.21     STREAM c1-eth40\n"
    server = "Server:\t\t127.0.0.1\n\nName:\tc1-eth40\nAddress: {}10.10.40.21\n"
    assert holds(getent, Reply(0, shown)) and not holds(getent, Reply(0, f"1{shown}"))
    assert holds(lookup, Reply(0, server.format("")))
    assert not holds(lookup, Reply(0, server.format("1")))


@pytest.mark.parametrize("name", ["a;b", "a b", "a'b", "$(x)", "a,b", "a=b", "*", "-x", "a|b"])
def test_a_name_that_xcat_cannot_express_is_refused(name: str) -> None:
    named = network(interfaces={"c1": name, "c2": name})
    with pytest.raises(UsageError, match="cannot be written for"):
        plan(drafted(wish("xcat", named), ()))


def test_a_plan_that_asked_nobody_says_what_its_undoing_does_not_restore() -> None:
    for title in ("Define the network net40", "Give c1", "Have nodes configure"):
        assert "does not restore" in step(plan(drafted(wish("xcat"), nodes())), title).undo_note
        assert not step(plan(answered({})), title).undo_note


@pytest.mark.parametrize(
    ("output", "so"), [("enabled\n", True), ("enabled", True), ("enabled-runtime\n", False),
                       ("static\n", False)],
)  # fmt: skip
def test_a_whole_line_is_expected(output: str, so: bool) -> None:
    check = Verification(Command("", ("systemctl", "is-enabled", "opafm")), "\nenabled\n")
    assert holds(check, Reply(0, output)) is so
