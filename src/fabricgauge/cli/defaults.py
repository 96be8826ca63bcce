"""What configuration files say of a verb's options, as click's own defaults.

Click takes the command line first, then the environment, then these.
"""

from typing import Any

import click

from fabricgauge.model.errors import UsageError


def from_files(verb: str, command: click.Command) -> dict[str, Any]:
    """Values by the names that the command's parameters have in the program.

    Raises:
        UsageError: a file names an option that the verb has not.
    """
    from fabricgauge import settings

    by_option = {
        word.removeprefix("--"): one
        for one in command.params
        for word in one.opts
        if word.startswith("--")
    }
    found: dict[str, Any] = {}
    for key, value in settings.load().verbs[verb].items():
        option = by_option.get(key)
        if option is None or option.name is None:
            raise UsageError(f"[{verb}] in a configuration file names {key!r}: no such option")
        several = option.multiple and not isinstance(value, list)
        found[option.name] = [value] if several else value
    return found
