"""Find published results by name, as values of the model."""

from difflib import get_close_matches

from fabricgauge.logs.references.curves import curves
from fabricgauge.logs.references.files import content, stems
from fabricgauge.model.errors import UsageError
from fabricgauge.model.reference import Reference


def names() -> tuple[str, ...]:
    """Return all names, document by document, in the documents' order."""
    return tuple(name for stem in stems() for name in content(stem).entries)


#: Prefix of a reference's name if a file or a run has the same name.
REFERENCE_PREFIX = "ref:"


def is_reference(name: str) -> bool:
    """Check whether a name, with or without the prefix, is that of a published result."""
    plain = name.removeprefix(REFERENCE_PREFIX)
    return any(plain in content(stem).entries for stem in stems() if plain.startswith(f"{stem}-"))


def reference(name: str) -> Reference:
    """Return the reference of that name; only its own document's file is read.

    Raises:
        UsageError: there is none; the message has the names that come close.
    """
    for stem in stems():
        if name.startswith(f"{stem}-") and name in content(stem).entries:
            document, entry = content(stem).document, content(stem).entries[name]
            return Reference(
                name, entry.title, document, entry.where, entry.hardware, entry.software,
                entry.network, entry.caveat, curves(entry), entry.table, entry.expected,
            )  # fmt: skip
    raise UsageError(f"no reference is called {name!r}; {_hint(name)}")


def _hint(name: str) -> str:
    all_names = names()
    longer_names = [longer for longer in all_names if name and name in longer]
    close_names = get_close_matches(name, all_names, n=3, cutoff=0.5) or longer_names[:3]
    if close_names:
        return f"did you mean {' or '.join(close_names)}?"
    return f"the names are: {', '.join(all_names)}"
