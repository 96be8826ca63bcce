"""The whole of it as one JSON document for other programs."""

import msgspec

from fabricgauge.model.varied import Varied
from fabricgauge.report.interface import Setting
from fabricgauge.report.varied import words

VERSION = "1.0"


class Document(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-varied"):
    """Changes are shares of the first level's figure; null is not known.

    A reader accepts every document of the same major version.
    """

    version: str
    headline: str
    varied: Varied


def render(varied: Varied, _setting: Setting) -> str:
    """The document with one space per level."""
    document = Document(VERSION, words.headline(varied), varied)
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
