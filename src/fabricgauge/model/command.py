"""A command line as data: what a builder returns and the one runner starts."""

import msgspec


class LaunchCommand(msgspec.Struct, frozen=True):
    """An argv list and the environment variables that are added for it."""

    argv: tuple[str, ...]
    env: dict[str, str]
