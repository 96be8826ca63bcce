"""A comparison as one JSON document for other programs."""

import msgspec

from fabricgauge.model.comparison import Comparison
from fabricgauge.report.comparison import words
from fabricgauge.report.interface import Setting

VERSION = "1.0"


class Document(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-comparison"):
    """All quantities in s, bytes/s, messages/s and shares, as in the model.

    A reader accepts every document of the same major version.
    """

    version: str
    headline: str
    comparison: Comparison


def render(comparison: Comparison, _setting: Setting) -> str:
    """The document with one space per level."""
    document = Document(VERSION, words.headline(comparison), comparison)
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
