"""The suites whose output can be read: one row each."""

from fabricgauge.parse.interface import Dialect, JsonDialect

DIALECTS: tuple[Dialect, ...] = ()

JSON_DIALECTS: tuple[JsonDialect, ...] = ()
