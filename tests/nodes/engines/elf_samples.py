"""Small programs and libraries as the loader sees them, made field by field."""

import struct


def elf(
    *,
    machine: int = 62,
    soname: str = "",
    needed: tuple[str, ...] = (),
    runpath: str = "",
    versions: tuple[tuple[str, tuple[str, ...]], ...] = (),
) -> bytes:
    """A file of 64 bits with one segment that holds all, and the dynamic section behind it."""
    strings, places = b"\0", dict[str, int]()
    for text in (
        soname,
        runpath,
        *needed,
        *(t for file, names in versions for t in (file, *names)),
    ):
        if text and text not in places:
            places[text] = len(strings)
            strings += text.encode() + b"\0"
    headers = 64 + 2 * 56
    at_strings, at_versions = headers, headers + len(strings)
    verneed = b""
    for number, (file, names) in enumerate(versions):
        entry = b"".join(
            struct.pack("<IHHII", 0, 0, 2, places[name], 16 if i < len(names) - 1 else 0)
            for i, name in enumerate(names)
        )
        step = 16 + len(entry) if number < len(versions) - 1 else 0
        verneed += struct.pack("<HHIII", 1, len(names), places[file], 16, step) + entry
    tags = [(1, places[name]) for name in needed]
    tags += [(14, places[soname])] if soname else []
    tags += [(29, places[runpath])] if runpath else []
    tags += [(5, at_strings)]
    tags += [(0x6FFFFFFE, at_versions), (0x6FFFFFFF, len(versions))] if versions else []
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in [*tags, (0, 0)])
    at_dynamic = at_versions + len(verneed)
    whole = at_dynamic + len(dynamic)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, whole, whole, 4096)
    part = struct.pack("<IIQQQQQQ", 2, 4, at_dynamic, at_dynamic, 0, len(dynamic), len(dynamic), 8)
    return header + load + part + strings + verneed + dynamic
