"""nccl-tests (and rccl-tests) 1.0 to 2.19: text in three generations of columns, and JSON."""

from fabricgauge.logs.readers.nccl.json_report import JSON_DIALECT
from fabricgauge.logs.readers.nccl.text import DIALECT

__all__ = ["DIALECT", "JSON_DIALECT"]
