"""Files in which every line begins with its node's name, as of pdsh, clush or srun; pure."""

import re
from collections.abc import Collection

_LABEL = re.compile(r" {0,8}([A-Za-z0-9][A-Za-z0-9._-]{0,252}):(?: |$)", re.ASCII)
#: The launchers' own words among the lines: ``pdsh@head: c1: ssh exited with exit code 1``.
_LAUNCHERS = re.compile(r"pdsh@[^:\s]{1,253}: |clush: |srun: ")


def by_node(text: str, nodes: Collection[str] = ()) -> dict[str, str]:
    """Each node's own lines without their label, in the order of the first of each.

    Empty where a line has no label: the file is not labelled. Many tools print ``KEY: VALUE``
    themselves, so that only somebody who knows the names can tell a key from a node: with
    ``nodes``, a label that is none of them is no label.
    """
    found: dict[str, list[str]] = {}
    known = frozenset(nodes)
    for line in text.split("\n"):
        if not line.strip() or _LAUNCHERS.match(line):
            continue
        label = _LABEL.match(line.rstrip("\r"))
        if label is None or (known and label[1] not in known):
            return {}
        found.setdefault(label[1], []).append(line.rstrip("\r")[label.end() :])
    return {node: "\n".join([*lines, ""]) for node, lines in found.items()}
