"""``ucx_info -d`` and ``ucx_info -v`` → UCX and its transports; pure.

As UCX 1.13 prints them, and the version as 1.16 does.
"""

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.model.inventory import Stack

TOOL = "ucx_info"
_VERSIONS = ("# Version ", "# Library version: ")
_PATH = "# Library path: "


def parse(text: str, argument: str = "") -> Parts:
    """A row ``ucx`` of ``-v``; of ``-d`` a row ``ucx NAME`` for each transport.

    A transport's ``path`` is its devices, space separated.
    """
    version, path = "", ""
    transport = ""
    devices: dict[str, dict[str, None]] = {}
    for line in lines(text):
        for head in _VERSIONS:
            version = version or (line.removeprefix(head).strip() if line.startswith(head) else "")
        path = line.removeprefix(_PATH).strip() if line.startswith(_PATH) else path
        key, value = pair(line.lstrip("# "))
        if key == "Transport":
            transport = value
            devices.setdefault(transport, {})
        elif key == "Device" and transport:
            devices[transport][value] = None
    known = (Stack("ucx", version, path),) if version else ()
    rows = tuple(Stack(f"ucx {name}", version, " ".join(of)) for name, of in devices.items())
    return Parts(stacks=known + rows, troubles=unrecognised(TOOL, text, known + rows))
