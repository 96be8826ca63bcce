"""nvbandwidth 0.1 to 0.10: copies between GPUs and to the host, as text matrices or JSON."""

from fabricgauge.parse.nvbandwidth.json_report import JSON_DIALECT
from fabricgauge.parse.nvbandwidth.text import DIALECT

__all__ = ["DIALECT", "JSON_DIALECT"]
