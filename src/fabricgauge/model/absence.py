"""Absence as a value: an unknown fact or an omitted measurement, with the reason."""

import msgspec


class Skipped(msgspec.Struct, frozen=True, tag="skipped"):
    """A measurement that was left out or a value that could not be read.

    ``reason`` is a sentence for a person. It names the missing thing and the place.
    """

    reason: str
