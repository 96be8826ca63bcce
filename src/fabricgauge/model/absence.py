"""Absence as a value: what is not known or was not done, and why."""

import msgspec


class Skipped(msgspec.Struct, frozen=True, tag="skipped"):
    """Something that was not measured or could not be read, with the reason.

    The reason is a sentence for a person: what was looked for, and where.
    """

    reason: str
