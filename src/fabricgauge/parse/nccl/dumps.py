"""The XML that NCCL and RCCL write to NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE.

Source: NCCL 2.30, src/graph/xml.cc, topo.cc and search.cc; RCCL writes the same elements. A dump
has neither a document type nor entities: one that has is refused, so nothing outside is read and
nothing grows.
"""

from xml.parsers import expat

from msgspec.structs import replace

from fabricgauge.model.nccl import NcclDevice, NcclDump, NcclGraph
from fabricgauge.parse.lines import number_of

#: A dump of eight GPUs has some 20 KB.
LARGEST_BYTES = 4 << 20
MOST_DEVICES, MOST_GRAPHS, MOST_DEPTH = 4096, 64, 64
_LONGEST_NAME = 64
_ROOTS = ("<system ", "<graphs ")

_Attributes = dict[str, str]


def is_dump(head: str) -> bool:
    """Whether a file that begins so is a dump of either kind."""
    text = head.lstrip("\ufeff \t\r\n")
    if text.startswith("<?xml"):
        text = text.partition("?>")[2].lstrip()
    return text.startswith(_ROOTS) and " version=" in text[:80]


def dump_of(content: bytes, source: str) -> NcclDump:
    """What a dump holds.

    Raises:
        ValueError: it is none; the message names file and line, and what was expected.
    """
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"{source}: a dump of NCCL has no more than {LARGEST_BYTES:,} bytes")
    reader = _DumpReader()
    try:
        reader.parser.Parse(content, True)
    except (expat.ExpatError, ValueError) as error:
        where = f"{source}:{reader.parser.CurrentLineNumber}"
        raise ValueError(f"{where}: the XML of a dump of NCCL was expected: {error}") from error
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

    def _start(self, name: str, said: _Attributes) -> None:
        if len(self._above) >= MOST_DEPTH:
            raise ValueError(f"its elements are more than {MOST_DEPTH} deep")
        inside = {tag for tag, _ in self._above}
        if name == "graph" and len(self.graphs) < MOST_GRAPHS:
            self.graphs.append(_graph(said))
        elif name == "net" and "graphs" in inside:
            self._adapter_of_graph(_number(said, "dev"))
        elif name in ("gpu", "net") and "system" in inside and len(self.devices) < MOST_DEVICES:
            self.devices.append(self._device(name, said))
        elif name in ("nvlink", "xgmi") and self.devices and self._above[-1][0] == "gpu":
            last = self.devices[-1]
            self.devices[-1] = replace(last, links=last.links + _number(said, "count"))
        self._above.append((name, said))

    def _end(self, _name: str) -> None:
        self._above.pop()

    def _device(self, kind: str, said: _Attributes) -> NcclDevice:
        """A GPU's name is its bus id; the nearest element with a NUMA node or a slot tells both."""
        slots = [slot for tag, slot in self._above if tag == "pci"]
        slot = slots[-1] if slots else {}
        nodes = [node for tag, node in self._above if tag == "cpu"]
        speed, width = slot.get("link_speed", ""), slot.get("link_width", "0")
        is_gpu = kind == "gpu"
        return NcclDevice(
            kind="gpu" if is_gpu else "net",
            index=_number(said, "dev"),
            name=(slot.get("busid", "") if is_gpu else said.get("name", ""))[:_LONGEST_NAME],
            numa=_number(nodes[-1], "numaid", -1) if nodes else -1,
            direct=said.get("gdr") == "1",
            rate_bit_s=0.0 if is_gpu else _number(said, "speed") * 1e6,
            pcie=f"{speed} x{width}"[:_LONGEST_NAME] if speed else "",
        )

    def _adapter_of_graph(self, index: int) -> None:
        if self.graphs and index not in self.graphs[-1].adapters[:MOST_DEVICES]:
            last = self.graphs[-1]
            self.graphs[-1] = replace(last, adapters=(*last.adapters, index)[:MOST_DEVICES])


def _graph(said: _Attributes) -> NcclGraph:
    """Speeds are in GB/s of 10^9 bytes, each way of one channel (graph/search.cc)."""
    channels = _number(said, "nchannels")
    return NcclGraph(
        _number(said, "id"), channels,
        _real(said, "speedintra") * channels * 1e9, _real(said, "speedinter") * channels * 1e9,
        said.get("typeintra", "")[:_LONGEST_NAME], said.get("typeinter", "")[:_LONGEST_NAME], (),
    )  # fmt: skip


def _number(said: _Attributes, name: str, absent: int = 0) -> int:
    """An attribute as a whole number; numbers of newer versions may be hexadecimal."""
    word = said.get(name, "")[:20]
    try:
        return int(word, 16) if word.lower().startswith("0x") else int(word)
    except ValueError:
        return absent


def _real(said: _Attributes, name: str) -> float:
    number = number_of(said.get(name, "")[:20])
    return number if number is not None and 0 <= number < 1e6 else 0.0
