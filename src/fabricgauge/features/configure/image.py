"""Plan software, locked memory, mounts and services of an image, or the head (root "/"); pure.

Sources: dnf(8) of dnf 4, rpm(8) of rpm 4.14; limits.conf(5) of Linux-PAM 1.5: domain, type (soft,
hard or "-" for both), item, value; the later one of two equal lines counts, and limits.d is read
later; fstab(5) of util-linux 2.38: blanks and backslashes in a field are written as
octal escapes. A repository: dnf.conf(5) of dnf 4, and the file that ``dnf config-manager
--add-repo`` of dnf-plugins-core 4 writes: its name is the URL with other signs as underscores; a
key's package is gpg-pubkey, its version the last eight digits of the fingerprint (rpm 4.14 to
4.19). INSTALL of Intel Fabric Suite 10: ``-n`` installs all with default options and leaves
autostart, ``-u`` removes all. OSU Micro-Benchmarks 5.8: configure, make, make install.
"""

import re
from collections.abc import Iterator, Sequence

from fabricgauge.features.configure.description import FabricSuite, Image, Mount, Osu, Repository
from fabricgauge.features.configure.files import (
    edit_step,
    fields,
    joined,
    lines_in,
    octal,
    questions,
    split,
)
from fabricgauge.features.configure.job import HEAD, Draft, Step, Verification, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command


def asks(image: Image) -> Iterator[Command]:
    """Ask for each package alone, to know which are missing."""
    yield from repository_asks(image)
    yield from (_query(image.root, (package,)) for package in image.packages)
    if image.memlock:
        yield from questions(HEAD, limits_path(image.root))
        yield _read_limits_d(image.root)
    if image.mounts:
        yield from questions(HEAD, fstab_path(image.root))


def steps(job: Draft, image: Image) -> Iterator[Step]:
    """Yield the steps; repositories come first, then packages, because they may bring files.

    Raises:
        UsageError: something else is mounted at a planned mount point.
    """
    root = image.root
    place = f"the image {root}" if root != "/" else on(HEAD)
    yield from repository_steps(job, image)
    if image.packages:
        yield _package_step(job, image, place)
    if image.memlock:
        yield edit_step(
            job, HEAD, limits_path(root), lambda text: with_memlock(text, image.memlock),
            memlock_lines(image.memlock), f"Let processes lock memory ({image.memlock}) in {place}",
            "RDMA locks its buffers in memory; the usual limit is too small for MPI",
        )  # fmt: skip
    if image.mounts:
        file, lines = fstab_path(root), [fstab_line(mount) for mount in image.mounts]
        yield edit_step(
            job, HEAD, file, lambda text: with_mounts(text, image.mounts, file), lines,
            f"Mount {', '.join(mount.target for mount in image.mounts)} in {place}",
            "on a node without disks, files shared by NFS take no memory",
        )  # fmt: skip
    for name in image.services:
        enable, enabled, disable = (
            Command(HEAD, ("systemctl", f"--root={root}", verb, name))
            for verb in ("enable", "is-enabled", "disable")
        )
        yield Step(
            f"Have {name} started by {place}",
            "a node without disks forgets at its next start what was enabled on it",
            (enable,), (Verification(enabled, "\nenabled\n"),), (disable,),
        )  # fmt: skip


def packed_check(image: Image, words: tuple[str, ...]) -> Verification:
    """Return a check that find(1) with ``words`` finds a packed image newer than its changes."""
    files = {
        "/var/lib/rpm": image.packages, f"/{LIMITS_FILE}": image.memlock,
        "/etc/fstab": image.mounts, "/etc/systemd/system": image.services,
    }  # fmt: skip
    root = image.root.rstrip("/")
    than = [word for file, part in files.items() if part for word in ("-newer", f"{root}{file}")]
    return Verification(Command(HEAD, ("find", *words, *than)), "/")


def node_checks(image: Image, node: str) -> Iterator[Verification]:
    """Yield checks that a node runs the changed image."""
    if image.packages:
        yield Verification(Command(node, ("rpm", "-q", "--", *image.packages)), "")
    if image.memlock:
        yield lines_in(node, limits_path("/"), memlock_lines(image.memlock))
    if image.mounts:
        yield lines_in(node, fstab_path("/"), [fstab_line(mount) for mount in image.mounts])
    for name in image.services:
        yield Verification(Command(node, ("systemctl", "is-enabled", name)), "\nenabled\n")


def _package_step(job: Draft, image: Image, place: str) -> Step:
    root, packages = image.root, image.packages
    replies = {package: job.reply(_query(root, (package,))) for package in packages}
    missing = tuple(
        package
        for package, reply in replies.items()
        if isinstance(reply, Skipped) or reply.exit_code != 0
    )
    root_option = () if root == "/" else (f"--installroot={root}",)
    chosen = missing or packages
    is_known = not any(isinstance(reply, Skipped) for reply in replies.values())
    # A package that was installed since the plan was made would be removed by the undoing.
    new_check = _rpm(root, "-qa", "--qf", "there: %{NAME}\\n", "--", *chosen)
    return Step(
        f"Install {', '.join(chosen)} in {place}",
        "the drivers, libraries and programs that the networks and their MPI need",
        (Command(HEAD, ("dnf", "-y", *root_option, "install", *chosen)),),
        (Verification(_query(root, chosen), ""),),
        (_rpm(root, "-e", "--", *chosen),) if is_known else (),
        undo_note=_DEPENDENCIES_STAY if is_known else _FORMER_UNKNOWN,
        fulfilled="" if missing else f"rpm knows {', '.join(packages)} in {place}",
        before=(Verification(new_check, "\nthere: ", absent=True),) if is_known else (),
    )


#: rpm removes only the named packages, and none on which another package depends (rpm(8)).
_DEPENDENCIES_STAY = (
    "dependencies that were installed with them stay (`dnf autoremove` removes them), and a package"
    " that others need by now is not removed"
)
_FORMER_UNKNOWN = (
    "the packages installed before are not known, so that none is removed; `dnf history undo`"
    " removes what was installed"
)


def _query(root: str, packages: Sequence[str]) -> Command:
    return _rpm(root, "-q", "--", *packages)


def _rpm(root: str, *words: str) -> Command:
    return Command(HEAD, ("rpm", *(() if root == "/" else ("--root", root)), *words))


LIMITS_FILE = "etc/security/limits.conf"

#: The last line of the file as Linux-PAM ships it; new lines are added before it.
_END = "# End of file"


def limits_path(root: str) -> str:
    """Return the file below a root directory; "/" is the head's own."""
    return f"{root.rstrip('/')}/{LIMITS_FILE}"


def memlock_lines(value: str) -> tuple[str, str]:
    return f"* soft memlock {value}", f"* hard memlock {value}"


def notes(job: Draft, image: Image) -> Iterator[str]:
    """Report lines of limits.d that override the planned ones."""
    for line in split(job.output(_read_limits_d(image.root))) if image.memlock else ():
        if _limits_all_memlock(line):
            yield (
                f"{_folder(image.root)} of {on(HEAD)} has {' '.join(fields(line))!r}, which is read"
                " later and wins: change it there"
            )


def _folder(root: str) -> str:
    return f"{limits_path(root).removesuffix('.conf')}.d"


def _read_limits_d(root: str) -> Command:
    words = ("-name", "*.conf", "-exec", "cat", "--", "{}", "+")
    return Command(HEAD, ("find", _folder(root), *words))


def with_memlock(text: str, value: str) -> str:
    """Return the text with exactly two lines for the memlock of all users."""
    lines = split(text)
    limit_lines = memlock_lines(value)
    memlock_lines_found = [line for line in lines if _limits_all_memlock(line)]
    if [*map(fields, memlock_lines_found)] == [*map(fields, limit_lines)]:
        return text
    other_lines = [line for line in lines if line not in memlock_lines_found]
    at = other_lines.index(_END) if _END in other_lines else len(other_lines)
    return joined((*other_lines[:at], *limit_lines, *other_lines[at:]))


def _limits_all_memlock(line: str) -> bool:
    words = fields(line.partition("#")[0])
    return len(words) == 4 and (words[0], words[2]) == ("*", "memlock")


def fstab_path(root: str) -> str:
    return f"{root.rstrip('/')}/etc/fstab"


def fstab_line(mount: Mount) -> str:
    fields = (mount.source, mount.target, mount.kind, mount.options)
    return " ".join((*map(octal, fields), "0", "0"))


def with_mounts(text: str, mounts: Sequence[Mount], file: str) -> str:
    """Return the text with a line for each missing mount.

    Raises:
        UsageError: something else is mounted there.
    """
    by_target = {words[1]: words for words in map(fields, split(text))
             if len(words) >= 4 and not words[0].startswith("#")}  # fmt: skip
    missing = []
    for mount in mounts:
        present = by_target.get(octal(mount.target))
        if present is None:
            missing.append(fstab_line(mount))
        elif present[:4] != fields(fstab_line(mount))[:4]:
            raise UsageError(
                f"{file} mounts {present[0]} on {mount.target} with {present[3]}; the description"
                f" has {mount.source} with {mount.options}: change one of them"
            )
    if not missing:
        return text
    return joined((*split(text), *missing))


_OTHER_SIGNS = re.compile(r"[^A-Za-z0-9_.:-]+")


def repository_asks(image: Image) -> Iterator[Command]:
    for repository in image.repositories:
        yield from questions(HEAD, _file(image.root, repository))


def repository_steps(job: Draft, image: Image) -> Iterator[Step]:
    """Yield the steps of each repository: fetch its key, trust it, add the repository's file."""
    root = image.root
    place = f"the image {root}" if root != "/" else on(HEAD)
    for repository in image.repositories:
        if repository.key:
            yield _fetch_key(root, repository, place)
            yield _import_key(root, repository, place)
        yield _add_repository(job, root, repository, place)


def _add_repository(job: Draft, root: str, repository: Repository, place: str) -> Step:
    name = _name(repository)
    lines = [f"[{name}]", f"name={name}", f"baseurl={repository.url}", "enabled=1"]
    # No gpgkey: dnf -y would trust each key that the URL serves, without the fingerprint.
    lines += ["gpgcheck=1"] if repository.key else []
    return edit_step(
        job, HEAD, _file(root, repository), lambda _held: joined(lines), lines,
        f"Add the package repository {repository.url} to {place}",
        "the packages of the description are not in the distribution",
    )  # fmt: skip


def _name(repository: Repository) -> str:
    return _OTHER_SIGNS.sub("_", repository.url.partition("://")[2]).strip("_")


def _file(root: str, repository: Repository) -> str:
    return f"{root.rstrip('/')}/etc/yum.repos.d/{_name(repository)}.repo"


def _key_file(root: str, repository: Repository) -> str:
    return f"{root.rstrip('/')}/etc/pki/rpm-gpg/{_name(repository)}.key"


def _checks_of_key(root: str, repository: Repository) -> tuple[Verification, Verification]:
    """Return checks that the fetched file holds one key, and that all its digits are right.

    A forged key could have the right one as its subkey: only the fingerprint above the user's name
    counts. gpg prints a blank line before each key but the first.
    """
    digits = repository.fingerprint.replace(" ", "").upper()
    keys = Command(
        HEAD,
        ("env", "LC_ALL=C", "gpg", "--no-options", "--no-keyring", "--batch", "--show-keys",
         _key_file(root, repository)),
    )  # fmt: skip
    return (
        Verification(keys, f"\n      {digits}\nuid "),
        Verification(keys, "\n\npub ", absent=True),
    )


def _fetch_key(root: str, repository: Repository, place: str) -> Step:
    file, url = _key_file(root, repository), repository.key
    url = f"file://{url}" if url.startswith("/") else url
    schemes = "=http,https,file"
    fetch = ("curl", "-fsSL", "--globoff", "--proto", schemes, "--create-dirs", "-o", file, url)
    return Step(
        f"Fetch the key of {repository.url} for {place}",
        f"gpg must find one key in {file}, with the fingerprint {repository.fingerprint}; without"
        " gpg no key is trusted",
        (Command(HEAD, fetch),),
        _checks_of_key(root, repository),
        (Command(HEAD, ("rm", "-f", "--", file)),),
        before=(
            Verification(Command(HEAD, ("test", "!", "-e", file)), ""),
            Verification(Command(HEAD, ("gpg", "--version")), "gpg (GnuPG)"),
        ),
    )  # fmt: skip


def _import_key(root: str, repository: Repository, place: str) -> Step:
    digits = repository.fingerprint.replace(" ", "").lower()[-8:]
    versions, all_versions = (
        _rpm(root, query, "--qf", "%{VERSION}\\n", "gpg-pubkey") for query in ("-q", "-qa")
    )
    return Step(
        f"Trust the key {digits} of {repository.url} in {place}",
        "rpm refuses packages that are signed by a key that it does not know",
        (_rpm(root, "--import", _key_file(root, repository)),),
        (Verification(versions, f"{digits}\n"),),
        (_rpm(root, "-e", f"gpg-pubkey-{digits}"),),
        before=(
            *_checks_of_key(root, repository),
            Verification(all_versions, f"{digits}\n", absent=True),
        ),
    )  # fmt: skip


def _unpack(node: str, archive: str, folder: str, program: str, title: str, reason: str) -> Step:
    return Step(
        title, reason,
        (
            Command(node, ("mkdir", "-p", "--", folder)),
            Command(node, ("tar", "-xzf", archive, "-C", folder, "--strip-components=1")),
        ),
        (Verification(Command(node, ("test", "-x", f"{folder}/{program}")), ""),),
        (Command(node, ("rm", "-r", "--one-file-system", "--", folder)),),
        before=(
            Verification(Command(node, ("test", "!", "-e", folder)), ""),
            Verification(Command(node, ("test", "-r", archive)), ""),
        ),
    )  # fmt: skip


def suite_steps(suite: FabricSuite) -> Iterator[Step]:
    """Yield the steps of a fabric suite that was downloaded by hand: unpack, install, verify."""
    node = "" if suite.node == "head" else suite.node
    top = suite.folder.rstrip("/")
    yield _unpack(
        node, suite.archive, top, "INSTALL", f"Unpack {suite.archive} on {on(node)}",
        "its owner offers it for download with an account only: copy it there first",
    )  # fmt: skip
    yield Step(
        f"Install the fabric suite of {top} on {on(node)}",
        "it brings the driver, the fabric manager and the tools of Omni-Path; -n leaves what starts"
        " at boot as it is: [[services]] says that",
        (Command(node, ("env", "-C", top, "./INSTALL", "-n")),),
        (Verification(Command(node, ("rpm", "-q", "opa-basic-tools", "opa-fm")), ""),),
        (Command(node, ("env", "-C", top, "./INSTALL", "-u")),),
        undo_note="-u removes all of the suite, also what was installed by it before",
    )  # fmt: skip
    yield Step(
        f"Check the driver and the ports of {on(node)}",
        "a port of Omni-Path 100 has four lanes of 25 Gb/s; a new driver may need a restart",
        verify=(
            Verification(Command(node, ("lsmod",)), "\nhfi1 "),
            Verification(Command(node, ("opainfo",)), "En: 25Gb"),
        ),
        undo_note="it changes nothing", follows=True,
    )  # fmt: skip


def osu_steps(osu: Osu) -> Iterator[Step]:
    """Yield the steps that build OSU's benchmarks with the MPI of the site."""
    prefix, source, mpi = osu.prefix.rstrip("/"), f"{osu.prefix.rstrip('/')}/src", osu.mpi
    program = f"{prefix}/libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency"
    yield _unpack(
        HEAD, osu.archive, source, "configure", f"Unpack {osu.archive} in {source}",
        "the benchmarks are built from source: they must use the MPI of the site",
    )  # fmt: skip
    compilers = (f"CC={mpi}/mpicc", f"CXX={mpi}/mpicxx")
    yield Step(
        f"Build OSU's benchmarks with {mpi}/mpicc and install them in {prefix}",
        "check --tool osu starts them; with another MPI each rank would be a job of its own",
        (
            Command(HEAD, ("env", "-C", source, "./configure", *compilers, f"--prefix={prefix}")),
            Command(HEAD, ("make", "-C", source)),
            Command(HEAD, ("make", "-C", source, "install")),
        ),
        (Verification(Command(HEAD, ("ldd", program)), "libmpi"),),
        (Command(HEAD, ("make", "-C", source, "uninstall")),),
        before=(Verification(Command(HEAD, ("test", "-x", f"{mpi}/mpicc")), ""),),
    )  # fmt: skip
