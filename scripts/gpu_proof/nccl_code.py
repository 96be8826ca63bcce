"""Leave out of a CUDA library the code of GPUs that are not meant.

A library holds code for every generation of GPU, most of its bytes. The payload of the others is
replaced by zeros, which pack to nothing; sizes and headers stay, so the driver finds its own code
where it was. Layout of ``.nv_fatbin``: a container has the magic number 0xBA55ED50, a header of 16
bytes and the size behind it; each entry has its header's size at 4, its payload's size at 8 and the
architecture at 28.
"""

import struct

_MAGIC = struct.pack("<I", 0xBA55ED50)


def keep_architectures(library: bytes, wanted: frozenset[int]) -> tuple[bytes, dict[int, int]]:
    """Return the library with code for ``wanted`` alone, and the bytes of each one that it had."""
    data = bytearray(library)
    sizes: dict[int, int] = {}
    place = library.find(_MAGIC)
    while place >= 0:
        header, body = (
            struct.unpack_from("<HQ", library, place + 6) if place + 16 <= len(library) else (0, 0)
        )
        end = place + header + body
        if header != 16 or end > len(library) or place % 8:
            place = library.find(_MAGIC, place + 4)
            continue
        entry = place + header
        while entry + 64 <= end:
            header_size, payload = struct.unpack_from("<IQ", library, entry + 4)
            architecture = struct.unpack_from("<I", library, entry + 28)[0]
            if not 32 <= header_size <= 4096 or entry + header_size + payload > end:
                break
            sizes[architecture] = sizes.get(architecture, 0) + payload
            if architecture not in wanted:
                data[entry + header_size : entry + header_size + payload] = bytes(payload)
            entry += header_size + payload
        place = library.find(_MAGIC, end)
    return bytes(data), sizes
