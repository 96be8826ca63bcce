"""Write gauges for the textfile collector of Prometheus' node exporter.

Source: Prometheus, "Exposition formats", text format 0.0.4: label values escape backslash, quote
and line feed; a file with the same series twice is refused as a whole.
"""

import math
from collections.abc import Iterable, Mapping

from fabricgauge.report.interface import Gauge, Setting
from fabricgauge.report.visible import visible


def render(gauges: Iterable[Gauge], _setting: Setting) -> str:
    """Return all gauges; one without a series is left out."""
    return "".join(map(_written, gauges))


def _written(gauge: Gauge) -> str:
    name = f"fabricgauge_{gauge.name}"
    finite = ((labels, value) for labels, value in gauge.series if math.isfinite(value))
    series = {_braced(labels): value for labels, value in finite}
    if not series:
        return ""
    head = f"# HELP {name} {gauge.help}\n# TYPE {name} gauge\n"
    return head + "".join(f"{name}{labels} {value!r}\n" for labels, value in series.items())


def _braced(labels: Mapping[str, str]) -> str:
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"'})
    escaped = ((name, visible(value).translate(escapes)) for name, value in labels.items())
    pairs = ",".join(f'{name}="{value}"' for name, value in escaped)
    return f"{{{pairs}}}" if pairs else ""
