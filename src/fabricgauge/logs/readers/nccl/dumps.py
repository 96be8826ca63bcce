"""Read the XML files that NCCL and RCCL write for NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE.

Source: NCCL 2.30, src/graph/xml.cc, topo.cc and search.cc; RCCL writes the same elements. A dump
has neither a document type nor entities. A file with one of them is refused, so nothing outside is
read and nothing grows.
"""

from xml.parsers import expat

from msgspec.structs import replace

from fabricgauge.logs.readers.lines import number_of
from fabricgauge.model.nccl import NcclDevice, NcclDump, NcclGraph

#: A dump of eight GPUs has some 20 KB.
LARGEST_BYTES = 4 << 20
MOST_DEVICES, MOST_GRAPHS, MOST_DEPTH = 4096, 64, 64
_LONGEST_NAME = 64
_ROOTS = ("<system ", "<graphs ")

_Attributes = dict[str, str]


def is_dump(head: str) -> bool:
    """Check whether a file with this beginning is a dump of either kind."""
    text = head.lstrip("\ufeff \t\r\n")
    if text.startswith("<?xml"):
        text = text.partition("?>")[2].lstrip()
    return text.startswith(_ROOTS) and " version=" in text[:80]


def dump_of(content: bytes, source: str) -> NcclDump:
    """Return the content of a dump.

    Raises:
        ValueError: it is none; the message has file, line and the expected form.
    """
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"{source}: a dump of NCCL has no more than {LARGEST_BYTES:,} bytes")
    reader = _DumpReader()
    try:
        reader.parser.Parse(content, True)
    except (expat.ExpatError, ValueError) as error:
        place = f"{source}:{reader.parser.CurrentLineNumber}"
        raise ValueError(f"{place}: the XML of a dump of NCCL was expected: {error}") from error
    return NcclDump(source, tuple(reader.devices), tuple(reader.graphs))


class _DumpReader:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.devices: list[NcclDevice] = []
        self.graphs: list[NcclGraph] = []
        self._above: list[tuple[str, _Attributes]] = []

    def _refuse(self, *_: object) -> None:
        raise ValueError("it declares a document type or an entity, which a dump has not")

    def _start(self, name: str, attributes: _Attributes) -> None:
        if len(self._above) >= MOST_DEPTH:
            raise ValueError(f"its elements are more than {MOST_DEPTH} deep")
        inside = {tag for tag, _ in self._above}
        if name == "graph" and len(self.graphs) < MOST_GRAPHS:
            self.graphs.append(_graph(attributes))
        elif name == "net" and "graphs" in inside:
            index = _number(attributes, "dev")
            if self.graphs and index not in self.graphs[-1].adapters[:MOST_DEVICES]:
                last = self.graphs[-1]
                self.graphs[-1] = replace(last, adapters=(*last.adapters, index)[:MOST_DEVICES])
        elif name in ("gpu", "net") and "system" in inside and len(self.devices) < MOST_DEVICES:
            self.devices.append(self._device(name, attributes))
        elif name in ("nvlink", "xgmi") and self.devices and self._above[-1][0] == "gpu":
            device = self.devices[-1]
            self.devices[-1] = replace(device, links=device.links + _number(attributes, "count"))
        self._above.append((name, attributes))

    def _end(self, _name: str) -> None:
        self._above.pop()

    def _device(self, kind: str, attributes: _Attributes) -> NcclDevice:
        """Return a device. A GPU's name is its bus id.

        The nearest elements with a NUMA node and a slot hold its place.
        """
        # Later elements are nearer.
        nearest = dict(self._above)
        slot, node = nearest.get("pci", {}), nearest.get("cpu", {})
        speed, width = slot.get("link_speed", ""), slot.get("link_width", "0")
        is_gpu = kind == "gpu"
        return NcclDevice(
            kind="gpu" if is_gpu else "net",
            index=_number(attributes, "dev"),
            name=(slot.get("busid", "") if is_gpu else attributes.get("name", ""))[:_LONGEST_NAME],
            numa=_number(node, "numaid", -1),
            direct=attributes.get("gdr") == "1",
            rate_bit_s=0.0 if is_gpu else _number(attributes, "speed") * 1e6,
            pcie=f"{speed} x{width}"[:_LONGEST_NAME] if speed else "",
        )


def _graph(attributes: _Attributes) -> NcclGraph:
    """Return a graph; speeds are GB/s of 10^9 bytes, per direction of a channel (search.cc)."""
    channels = _number(attributes, "nchannels")
    return NcclGraph(
        _number(attributes, "id"), channels,
        _real(attributes, "speedintra") * channels * 1e9,
        _real(attributes, "speedinter") * channels * 1e9,
        attributes.get("typeintra", "")[:_LONGEST_NAME],
        attributes.get("typeinter", "")[:_LONGEST_NAME],
        (),
    )  # fmt: skip


def _number(attributes: _Attributes, name: str, absent: int = 0) -> int:
    """Return an attribute as a whole number; newer versions may write hexadecimal ones."""
    word = attributes.get(name, "")[:20]
    try:
        return int(word, 16) if word.lower().startswith("0x") else int(word)
    except ValueError:
        return absent


def _real(attributes: _Attributes, name: str) -> float:
    number = number_of(attributes.get(name, "")[:20])
    return number if number is not None and 0 <= number < 1e6 else 0.0
