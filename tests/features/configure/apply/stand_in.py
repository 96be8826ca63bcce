"""A stand-in for programs of a cluster that a test does not have.

Called by many names, it records its argv (words end in NUL, calls in RS) and keeps a little state.
The head and each node have a directory below STAND_IN in which ordinary programs look for paths.
"""

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Held = dict[str, Any]
say = print

HOME = Path(os.environ["STAND_IN"])
NODE = os.environ.get("STAND_IN_NODE", "head")
FAIL = os.environ.get("STAND_IN_FAIL", "")
REAL = ("cat", "cmp", "awk", "test", "cp", "rm", "find", "grep", "sh")
#: A script of this name, and what ``find`` starts, get real programs: their paths lead into the
#: node's directory already.
EDIT = "edit_file"


class State:
    """One JSON file, locked while a program looks at it or changes it."""

    def __enter__(self) -> Held:
        self._lock = (HOME / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        file = HOME / "state.json"
        self.data: Held = {}
        self.data.update(json.loads(file.read_text()) if file.exists() else {})
        return self.data

    def __exit__(self, *_: object) -> None:
        (HOME / "state.json").write_text(json.dumps(self.data))
        self._lock.close()


def root(node: str) -> Path:
    return HOME / "roots" / node


def main() -> None:
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    with (HOME / "calls").open("ab") as calls:
        calls.write(b"".join(os.fsencode(w) + b"\0" for w in (NODE, name, *words)) + b"\x1e")
    if name == FAIL:
        sys.exit(f"{name}: it was told to fail")
    if name == "ssh":
        ssh(words)
    if name in REAL:
        home = str(root(NODE))
        there = [home + w if w.startswith("/") and w != "/dev/null" else w for w in words]
        if EDIT in words or name == "find":
            os.environ["PATH"] = "/usr/bin:/bin"
        os.execv(shutil.which(name, path="/usr/bin:/bin") or name, [name, *there])  # noqa: S606
    with State() as state:
        status = globals()[f"do_{name.replace('-', '_')}"](state, words)
    sys.exit(status or 0)


def ssh(words: list[str]) -> None:
    at = words.index("--")
    os.environ["STAND_IN_NODE"] = words[at + 1]
    os.execv("/bin/sh", ["sh", "-c", words[at + 2]])  # noqa: S606


def objects(state: Held, kind: str) -> Held:
    held: Held = state.setdefault(kind, {})
    return held


def do_chdef(state: Held, words: list[str]) -> None:
    kind, names = words[words.index("-t") + 1], words[words.index("-o") + 1].split(",")
    for name in names:
        held = objects(state, kind).setdefault(name, {})
        for word in words:
            key, sign, value = word.partition("=")
            if not sign:
                continue
            if "-p" in words:
                value = ",".join(filter(None, (*held.get(key, "").split(","), value)))
            if "-m" in words:
                value = ",".join(one for one in held.get(key, "").split(",") if one != value)
            held[key] = value


def do_rmdef(state: Held, words: list[str]) -> None:
    del objects(state, words[words.index("-t") + 1])[words[words.index("-o") + 1]]


def do_lsdef(state: Held, words: list[str]) -> int:
    there = objects(state, words[words.index("-t") + 1])
    names = words[words.index("-o") + 1].split(",") if "-o" in words else list(there)
    shown = words[words.index("-i") + 1].split(",") if "-i" in words else None
    for name in names:
        if name not in there:
            sys.stderr.write(f"Error: Could not find an object named '{name}'\n")
            return 1
        say(f"Object name: {name}")
        for key, value in sorted(there[name].items()):
            if value and (shown is None or key.partition(".")[0] in shown):
                say(f"    {key}={value}")
    return 0


def do_makenetworks(state: Held, words: list[str]) -> None:
    objects(state, "network").setdefault("10_10_1_0", {"net": "10.10.1.0", "mask": "255.255.255.0"})


def ends(state: Held, nodes: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Interface, address and suffix of every nic that is defined."""
    for node in nodes:
        held = objects(state, "node").get(node, {})
        for key, ip in held.items():
            if key.startswith("nicips.") and ip:
                nic = key.partition(".")[2]
                yield node, nic, ip, held.get(f"nichostnamesuffixes.{nic}", "")


def do_makehosts(state: Held, words: list[str]) -> None:
    hosts = root("head") / "etc/hosts"
    with hosts.open("a") as file:
        for node, _, ip, suffix in ends(state, words[0].split(",")):
            if suffix:
                file.write(f"{ip} {node}{suffix}\n")


def do_getent(state: Held, words: list[str]) -> int:
    for line in (root(NODE) / "etc/hosts").read_text().splitlines():
        ip, *names = line.split()
        if words[1] in names:
            say(f"{ip:15} STREAM {words[1]}")
            return 0
    return 2


def do_makedns(state: Held, words: list[str]) -> None:
    lines = (root("head") / "etc/hosts").read_text().splitlines()
    state["zone"] = {name: line.split()[0] for line in lines for name in line.split()[1:]}


def do_nslookup(state: Held, words: list[str]) -> int:
    if words[0] not in state.get("zone", {}):
        return 1
    say(f"Server:\t127.0.0.1\nAddress:\t127.0.0.1#53\n\nName:\t{words[0]}")
    say(f"Address: {state['zone'][words[0]]}")
    return 0


def configure(state: Held, nodes: Iterable[str]) -> None:
    for node, nic, ip, _ in ends(state, nodes):
        live = objects(state, "live").setdefault(f"{node}:{nic}", [])
        if f"{ip}/24" not in live:
            live.append(f"{ip}/24")


def do_updatenode(state: Held, words: list[str]) -> None:
    configure(state, words[0].split(","))


def do_ip(state: Held, words: list[str]) -> None:
    if "-j" in words:
        say("[]")
        return
    device = f"{NODE}:{words[words.index('dev') + 1]}"
    live = objects(state, "live").setdefault(device, [])
    if "flush" in words:
        gone = words[-1].partition("/")[0]
        live[:] = [one for one in live if one.partition("/")[0] != gone]
    elif "addr" in words:
        for number, one in enumerate(live):
            say(f"{number}: {device.partition(':')[2]}    inet {one} brd + scope global")


def do_ping(state: Held, words: list[str]) -> int:
    there = [ip.partition("/")[0] for live in objects(state, "live").values() for ip in live]
    lost = 0 if words[-1] in there else 100
    say(f"3 packets transmitted, {3 - lost * 3 // 100} received, {lost}% packet loss")
    return lost // 100


def do_packimage(state: Held, words: list[str]) -> None:
    place = next(root("head").rglob("rootimg"))
    newest = max(file.stat().st_mtime for file in place.rglob("*")) + 1
    (place.parent / "rootimg.cpio.gz").write_text(words[0])
    os.utime(place.parent / "rootimg.cpio.gz", (newest, newest))


def do_pdsh(state: Held, words: list[str]) -> None:
    """Only ``-w NODES reboot``: nodes start with the image, set lanes, and their postscripts."""
    assert words[0] == "-w" and words[2:] == ["reboot"], words
    for node in words[1].split(","):
        for image in root("head").rglob("rootimg"):
            shutil.copytree(image, root(node), dirs_exist_ok=True)
        (root(node) / "proc/sys/kernel/random/boot_id").write_text("after\n")
        postscripts = objects(state, "node").get(node, {}).get("postscripts", "")
        if "confignetwork" in postscripts.split(","):
            configure(state, [node])


def do_qcu64e(state: Held, words: list[str]) -> None:
    modes = objects(state, "lanes")
    if "/SET" in words:
        modes[NODE] = words[-1]
    say(f"Current Configuration: {modes.get(NODE, '1x40')}\n")
    say("Supported Configurations:\n1x40\n4x10")


def do_systemctl(state: Held, words: list[str]) -> int:
    services = objects(state, "services")
    verb, name = [word for word in words if not word.startswith("-")]
    held = services.setdefault(f"{NODE}:{name}", {"active": False, "enabled": False})
    if verb in ("enable", "disable"):
        held["enabled"] = verb == "enable"
    if verb in ("start", "stop") or "--now" in words:
        held["active"] = verb in ("start", "enable")
    if verb.startswith("is-"):
        so = held[verb[3:]]
        say(verb[3:] if so else {"active": "inactive", "enabled": "disabled"}[verb[3:]])
        return 0 if so else 3
    return 0


def do_opaconfig(state: Held, words: list[str]) -> int:
    return do_systemctl(state, ["enable" if words[0] == "-E" else "disable", words[1]])


def do_exportfs(state: Held, words: list[str]) -> None:
    if "-ra" in words:
        state["exports"] = (root("head") / "etc/exports").read_text()
    else:
        sys.stdout.write(state.get("exports", ""))


def do_rpm(state: Held, words: list[str]) -> int:
    place = words[words.index("--root") + 1] if "--root" in words else "/"
    installed = objects(state, "packages").setdefault(place, [])
    names = words[words.index("--") + 1 :]
    if "-qa" in words:
        for name in installed:
            if name in names:
                say(f"there: {name}")
        return 0
    if "-e" in words:
        installed[:] = [one for one in installed if one not in names]
        return 0
    return int(not set(names) <= set(installed))


def do_dnf(state: Held, words: list[str]) -> None:
    place = next((w.partition("=")[2] for w in words if w.startswith("--installroot=")), "/")
    objects(state, "packages").setdefault(place, []).extend(words[words.index("install") + 1 :])


if __name__ == "__main__":
    main()
