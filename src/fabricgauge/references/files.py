"""The data files beside this module: one per document, each read when first needed."""

import sys
from functools import cache
from importlib.resources import files

import msgspec

from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.reference import Document
from fabricgauge.references.entry import ReferenceEntry

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class ReferenceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: the document and its entries, in the file's order."""

    document: Document
    reference: tuple[ReferenceEntry, ...] = ()

    @property
    def entries(self) -> dict[str, ReferenceEntry]:
        return {entry.name: entry for entry in self.reference}


@cache
def stems() -> tuple[str, ...]:
    """Names of the files without ``.toml``; each reference's name begins with its file's."""
    found = (file.name for file in (files(__package__) / "data").iterdir())
    return tuple(sorted(name[:-5] for name in found if name.endswith(".toml")))


@cache
def content(stem: str) -> ReferenceFile:
    """What the file ``stem`` says.

    Raises:
        FabricgaugeError: the file is not what it should be; file and place in it are named.
    """
    return read(stem, (files(__package__) / "data" / f"{stem}.toml").read_text(encoding="utf-8"))


def read(stem: str, text: str) -> ReferenceFile:
    """The content of a file of this name; pure. Errors are as for ``content``."""
    try:
        return msgspec.convert(tomllib.loads(text), ReferenceFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise FabricgaugeError(
            f"references/data/{stem}.toml: {error}; mend the file, or reinstall fabricgauge if you"
            " did not change it"
        ) from error
