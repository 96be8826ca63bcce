"""Repositories, a fabric suite, OSU built with the site's MPI, and ports that become active."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import msgspec
import pytest
from tests.features.configure.sample import answered, drafted, network, wish

from fabricgauge.features.configure import image as images
from fabricgauge.features.configure.description import (
    FabricSuite,
    Head,
    Image,
    Osu,
    Repository,
    Services,
)
from fabricgauge.features.configure.interface import checks, plan, questions
from fabricgauge.features.configure.job import Reply, Step, holds
from fabricgauge.features.configure.services import port_steps
from fabricgauge.model.finding import Command

URL, KEY = "https://yum.repos.example.com/oneapi", "https://yum.repos.example.com/KEY.PUB"
FINGERPRINT = "BF44 13C4 0E9D 7C1A F4E8 1A3B 3D2C 9E07 7E6C 5DBE"
REPOSITORY = Repository(URL, KEY, FINGERPRINT)
DIGITS = FINGERPRINT.replace(" ", "")
KEY_FILE = "/etc/pki/rpm-gpg/yum.repos.example.com_oneapi.key"
FILE = "/etc/yum.repos.d/yum.repos.example.com_oneapi.repo"


def words(commands: tuple[Command, ...]) -> list[str]:
    return [" ".join(command.argv) for command in commands]


def steps_of(title: str, all_steps: tuple[Step, ...]) -> list[Step]:
    return [step for step in all_steps if title in step.title]


def test_a_repository_is_trusted_then_added_then_used() -> None:
    head = Head(packages=("intel-mpi",), repositories=(REPOSITORY,))
    job = drafted(wish("ip", head=head))
    steps = plan(answered(job, {})).steps
    fetched, key, repository, package = steps[:4]
    assert fetched.commands[0].argv[-3:] == ("-o", KEY_FILE, KEY)
    assert words(fetched.undo) == [f"rm -f -- {KEY_FILE}"]
    assert words(key.commands) == [f"rpm --import {KEY_FILE}"]
    assert words(key.undo) == ["rpm -e gpg-pubkey-7e6c5dbe"]
    assert key.verify[0].expected == "7e6c5dbe\n"
    assert FILE in repository.commands[0].argv
    content = repository.commands[0].stdin
    assert content.splitlines()[2:] == [f"baseurl={URL}", "enabled=1", "gpgcheck=1"]
    assert repository.undo and package.title.startswith("Install intel-mpi")


def test_what_is_there_already_is_fulfilled() -> None:
    head = Head(repositories=(REPOSITORY,))
    job = drafted(wish("ip", head=head))
    (held,) = (
        step.commands[0].stdin for step in plan(answered(job, {})).steps if "Add the" in step.title
    )
    job = answered(job, {("", FILE): held})
    replies = dict(job.replies)
    for command in checks(plan(job)):
        if command.argv[0] == "rpm":
            replies[command] = Reply(0, "fd431d51\n7e6c5dbe\n")
        elif "gpg" in command.argv:
            replies[command] = Reply(0, f"pub   rsa\n      {DIGITS}\nuid   a vendor\n")
    steps = plan(msgspec.structs.replace(job, replies=replies)).steps
    assert all(step.fulfilled for step in steps[:3])
    assert any(command.argv[-1] == FILE for command in questions(job))


def test_an_image_has_its_own_repository_and_key() -> None:
    image = Image("/install/root", repositories=(REPOSITORY,))
    _, key, repository = images.repository_steps(drafted(), image)
    file = f"/install/root{KEY_FILE}"
    assert words(key.commands) == [f"rpm --root /install/root --import {file}"]
    assert f"/install/root{FILE}" in repository.commands[0].argv


@pytest.mark.parametrize(("table", "reason"), [
    ({"url": URL, "key": KEY}, "fingerprint"),
    ({"url": f"{URL}.repo"}, "baseurl"),
    ({"url": "ftp:x"}, "regex"),
    ({"url": URL, "key": "-x", "fingerprint": FINGERPRINT}, "regex"),
])  # fmt: skip
def test_a_repository_without_proof_is_refused(table: dict[str, str], reason: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=reason):
        msgspec.convert(table, Repository)


def test_a_fabric_suite_is_unpacked_installed_and_verified() -> None:
    unpack, install, verify = images.suite_steps(FabricSuite("/root/IFS.tgz", "/opt/ifs", "c1"))
    assert words(unpack.undo) == ["rm -r --one-file-system -- /opt/ifs"]
    assert any(check.command.argv == ("test", "!", "-e", "/opt/ifs") for check in unpack.before)
    assert words(install.commands) == ["env -C /opt/ifs ./INSTALL -n"]
    assert words(install.undo) == ["env -C /opt/ifs ./INSTALL -u"]
    assert not verify.commands and verify.follows
    lsmod, opainfo = verify.verify
    assert holds(lsmod, Reply(0, "Module  Size\nhfi1 770048 1\n"))
    assert not holds(lsmod, Reply(0, "Module  Size\nrdmavt 98304 1 hfi1\n"))
    assert holds(opainfo, Reply(0, "LinkSpeed      En: 25Gb                 Sup: 25Gb"))
    assert not holds(opainfo, Reply(0, "LinkSpeed      En: 12.5Gb               Sup: 25Gb"))
    assert {command.node for step in (unpack, install) for command in step.commands} == {"c1"}


@pytest.mark.parametrize(("kind", "manager", "checked"), [
    ("omni-path", "opafm", True), ("infiniband", "opensm", True),
    ("infiniband", "opafm", False), ("ethernet", "opensm", False),
])  # fmt: skip
def test_ports_are_checked_once_their_manager_starts(
    kind: str, manager: str, checked: bool
) -> None:
    services = (Services("c1", (manager,)),)
    job = drafted(wish("ip", network(kind=kind, mtu_bytes=2044), services=services))
    found = [*port_steps(job)]
    assert bool(found) is checked
    if checked:
        (step,) = found
        of_node = [check for check in step.verify if check.command.node == "c1"]
        assert all("enp97s0" in check.command.argv[1] for check in of_node)
        for states, active in (
            ("4: ACTIVE\n", True), ("2: INIT\n", False),
            ("2: INIT\n4: ACTIVE\n", False), ("4: ACTIVE\n1: DOWN\n", False),
        ):  # fmt: skip
            assert all(holds(check, Reply(0, states)) for check in of_node) is active
        titles = [step.title for step in plan(job).steps]
        ping = next(at for at, title in enumerate(titles) if "reach each other" in title)
        assert titles[ping - 1] == step.title


def test_a_port_s_own_state_counts_if_its_number_is_known() -> None:
    services = (Services("c1", ("opensm",)),)
    job = drafted(wish("ip", network(kind="infiniband", mtu_bytes=2044), services=services))
    numbers = [question for question in questions(job) if question.argv[-1].endswith("dev_port")]
    assert numbers
    job = msgspec.structs.replace(job, replies=dict.fromkeys(numbers, Reply(0, "1\n")))
    (step,) = port_steps(job)
    assert {check.command.argv[3] for check in step.verify} == {"*/ports/2/state"}
    assert len(step.verify) == len(numbers) and not any(check.absent for check in step.verify)


def run_all(commands: tuple[Command, ...]) -> None:
    for command in commands:
        subprocess.run(command.argv, check=True, capture_output=True, text=True)


def shows(command: Command) -> Reply:
    done = subprocess.run(command.argv, capture_output=True, text=True, check=False)
    return Reply(done.returncode, done.stdout)


def generate_key(tmp_path: Path, user: str) -> tuple[Path, str]:
    """Return a new key's file, and its fingerprint."""
    home, key = tmp_path / "gpg", tmp_path / f"{user}.asc"
    home.mkdir(mode=0o700, exist_ok=True)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet"]
    uid = ["--passphrase", "", "--quick-gen-key", user, "rsa2048", "sign", "0"]
    subprocess.run([*gpg, *uid], check=True, capture_output=True)
    key.write_bytes(subprocess.run([*gpg, "--armor", "--export", user], check=True,
                                   capture_output=True).stdout)  # fmt: skip
    printed = subprocess.run([*gpg, "--with-colons", "--fingerprint", user], check=True,
                             capture_output=True, text=True).stdout  # fmt: skip
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
    fingerprint = next(line.split(":")[9] for line in printed.splitlines() if line[:3] == "fpr")
    return key, fingerprint


def test_a_key_is_refused_by_one_wrong_digit_and_by_a_second_key(tmp_path: Path) -> None:
    """The commands run for real; the wrong fingerprint has the same last eight digits."""
    if not (shutil.which("curl") and shutil.which("gpg")):
        pytest.skip("needs curl and gpg")
    key, fingerprint = generate_key(tmp_path, "vendor")
    second, _ = generate_key(tmp_path, "intruder")
    two = tmp_path / "two.asc"
    two.write_bytes(key.read_bytes() + second.read_bytes())
    wrong = f"{'1' if fingerprint[0] == '0' else '0'}{fingerprint[1:]}"
    held = []
    for number, (file, digits) in enumerate(
        [(key, fingerprint), (key, fingerprint.lower()), (key, wrong), (two, fingerprint)]
    ):
        root = tmp_path / f"root{number}"
        image = Image(str(root), repositories=(Repository(URL, str(file), digits),))
        fetch, trust, _ = images.repository_steps(drafted(), image)
        assert all(holds(check, shows(check.command)) for check in fetch.before)
        run_all(fetch.commands)
        held.append(all(holds(check, shows(check.command)) for check in fetch.verify))
        assert {*fetch.verify} < {*trust.before}
    assert held == [True, True, False, False]


def test_rpm_trusts_the_key_and_forgets_it_again(tmp_path: Path) -> None:
    """The commands run for real, in an image of their own."""
    if not all(map(shutil.which, ("rpm", "gpg", "curl"))):
        pytest.skip("needs rpm, gpg and curl")
    root = tmp_path / "root"
    root.mkdir()
    key, fingerprint = generate_key(tmp_path, "vendor")
    subprocess.run(["rpm", "--root", str(root), "--initdb"], check=True, capture_output=True)
    repository = Repository(URL, str(key), fingerprint)
    image = Image(str(root), repositories=(repository,))
    fetch, step, _ = images.repository_steps(drafted(), image)
    run_all(fetch.commands)
    assert all(holds(check, shows(check.command)) for check in step.before)
    run_all(step.commands)
    assert holds(step.verify[0], shows(step.verify[0].command))
    assert not holds(step.before[-1], shows(step.before[-1].command))
    run_all(step.undo)
    assert not holds(step.verify[0], shows(step.verify[0].command))


def test_a_suite_s_installer_is_started_in_its_folder(tmp_path: Path) -> None:
    """The commands run for real, on an archive whose INSTALL records how it was started."""
    package, folder = tmp_path / "IntelOPA-IFS.10.11", tmp_path / "ifs"
    package.mkdir()
    (package / "INSTALL").write_text('#!/bin/sh\necho "called $1" >>"$PWD/calls"\n')
    (package / "INSTALL").chmod(0o755)
    archive = tmp_path / "ifs.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(package, package.name)
    suite = FabricSuite(str(archive), str(folder), "head")
    unpack, install, _ = images.suite_steps(suite)
    assert all(holds(check, shows(check.command)) for check in unpack.before)
    run_all((*unpack.commands, *install.commands, *install.undo))
    assert holds(unpack.verify[0], shows(unpack.verify[0].command))
    assert (folder / "calls").read_text() == "called -n\ncalled -u\n"
    assert not holds(unpack.before[0], shows(unpack.before[0].command))
    run_all(unpack.undo)
    assert not folder.exists()


CONFIGURE = """\
#!/bin/sh
for word; do case $word in CC=*) cc=${word#CC=};; --prefix=*) prefix=${word#--prefix=};; esac; done
printf 'all:\\n\\t%s -o osu_latency latency.c\\n' "$cc" > Makefile
place=$prefix/libexec/osu-micro-benchmarks/mpi/pt2pt
printf 'install:\\n\\tmkdir -p %s && cp osu_latency %s/\\n' "$place" "$place" >> Makefile
printf 'uninstall:\\n\\trm %s/osu_latency\\n' "$place" >> Makefile
"""


def test_osu_is_built_with_the_mpi_that_is_named_and_taken_back(tmp_path: Path) -> None:
    """The commands run for real, on a package with the targets that automake gives OSU's."""
    wrapper = shutil.which("mpicc")
    if wrapper is None:
        pytest.skip("needs mpicc")
    package = tmp_path / "osu-micro-benchmarks-5.8"
    package.mkdir()
    (package / "configure").write_text(CONFIGURE)
    (package / "configure").chmod(0o755)
    (package / "latency.c").write_text(
        "#include <mpi.h>\nint main(int c, char **v) { return MPI_Init(&c, &v); }\n"
    )
    archive, prefix = tmp_path / "osu.tgz", tmp_path / "osu"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(package, package.name)
    osu = Osu(str(archive), str(Path(wrapper).parent), str(prefix))
    made = [*images.osu_steps(osu)]
    for step in made:
        run_all(tuple(check.command for check in step.before))
        run_all(step.commands)
        assert all(holds(check, shows(check.command)) for check in step.verify), step
    for step in reversed(made):
        run_all(step.undo)
    assert not (prefix / "src").exists() and not [*prefix.rglob("osu_latency")]
