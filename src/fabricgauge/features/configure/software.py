"""Plan software that no distribution has: a package repository, a fabric suite, OSU; pure.

Sources: dnf.conf(5) of dnf 4, and the file that ``dnf config-manager --add-repo`` of
dnf-plugins-core 4 writes: its name is the URL with other signs as underscores. rpm(8) of rpm 4.14
to 4.19: a key's package is gpg-pubkey, its version the last eight digits of the fingerprint.
INSTALL of Intel Fabric Suite 10: ``-n`` installs all with default options and leaves autostart,
``-u`` removes all. OSU Micro-Benchmarks 5.8: configure, make, make install.
"""

import re
from collections.abc import Iterator

from fabricgauge.features.configure.description import FabricSuite, Image, Osu, Repository
from fabricgauge.features.configure.files import edit_step, joined, questions
from fabricgauge.features.configure.job import HEAD, Draft, on
from fabricgauge.features.configure.values import Step, Verification
from fabricgauge.model.finding import Command

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
    lines = _lines(repository)
    return edit_step(
        job, HEAD, _file(root, repository), lambda _held: joined(lines), lines,
        f"Add the package repository {repository.url} to {place}",
        "the packages of the description are not in the distribution",
    )  # fmt: skip


def _name(repository: Repository) -> str:
    return _OTHER_SIGNS.sub("_", repository.url.partition("://")[2]).strip("_")


def _file(root: str, repository: Repository) -> str:
    return f"{root.rstrip('/')}/etc/yum.repos.d/{_name(repository)}.repo"


def _lines(repository: Repository) -> list[str]:
    # No gpgkey: dnf -y would trust each key that the URL serves, without the fingerprint.
    key = ["gpgcheck=1"] if repository.key else []
    name = _name(repository)
    return [f"[{name}]", f"name={name}", f"baseurl={repository.url}", "enabled=1", *key]


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
    """Return the step that fetches a key and compares its whole fingerprint."""
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
    """Return the step that lets rpm trust the fetched key, after its fingerprint."""
    option = () if root == "/" else ("--root", root)
    digits = repository.fingerprint.replace(" ", "").lower()[-8:]
    versions = Command(HEAD, ("rpm", *option, "-q", "--qf", "%{VERSION}\\n", "gpg-pubkey"))
    all_versions = Command(HEAD, ("rpm", *option, "-qa", "--qf", "%{VERSION}\\n", "gpg-pubkey"))
    return Step(
        f"Trust the key {digits} of {repository.url} in {place}",
        "rpm refuses packages that are signed by a key that it does not know",
        (Command(HEAD, ("rpm", *option, "--import", _key_file(root, repository))),),
        (Verification(versions, f"{digits}\n"),),
        (Command(HEAD, ("rpm", *option, "-e", f"gpg-pubkey-{digits}")),),
        before=(
            *_checks_of_key(root, repository),
            Verification(all_versions, f"{digits}\n", absent=True),
        ),
    )  # fmt: skip


def _unpack(node: str, archive: str, folder: str, program: str, title: str, reason: str) -> Step:
    """Return the step that unpacks an archive of the node; ``program`` is in it."""
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
