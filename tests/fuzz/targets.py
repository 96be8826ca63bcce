"""All that reads what others wrote, with the broken inputs that each is given."""

from collections.abc import Callable, Iterable
from functools import partial

import msgspec
from tests.fuzz import files, logs, printouts, stored, surveys, words

from fabricgauge.nodes.discover.printouts.table import PARSERS as PRINTOUTS


class Target(msgspec.Struct, frozen=True):
    """``complaints`` says what is wrong with the reading of an input; ``share`` of all inputs."""

    input_of: Callable[[int, int], bytes]
    complaints: Callable[[bytes], Iterable[str]]
    share: int


def _printout_of(name: str, seed: int, number: int) -> bytes:
    text, argument = printouts.input_of(name, seed, number)
    return argument.encode() + stored.SEPARATOR + text.encode()


def _printout(name: str, content: bytes) -> Iterable[str]:
    argument, _, text = content.partition(stored.SEPARATOR)
    return printouts.complaints(PRINTOUTS[name], text.decode("utf-8", "replace"), argument.decode())


def _file_of(name: str, seed: int, number: int) -> bytes:
    return files.input_of(name, seed, number).encode()


def _file(name: str, content: bytes) -> Iterable[str]:
    files.PARSERS[name][0](content.decode("utf-8", "replace"))
    return ()


def _survey_of(seed: int, number: int) -> bytes:
    return surveys.input_of(seed, number).encode()


def _survey(content: bytes) -> Iterable[str]:
    return surveys.complaints(content.decode("utf-8", "replace"))


TARGETS: dict[str, Target] = {
    "logs": Target(logs.input_of, logs.complaints, 100),
    **{
        f"printout {name}": Target(partial(_printout_of, name), partial(_printout, name), 15)
        for name in printouts.NAMES
    },
    **{
        f"file {name}": Target(partial(_file_of, name), partial(_file, name), 80)
        for name in files.PARSERS
    },
    "surveys": Target(_survey_of, _survey, 2),
    **{
        name: Target(partial(stored.input_of, name), partial(stored.complaints, name), 20)
        for name in stored.SOURCES
    },
    **{
        name: Target(partial(words.input_of, name), partial(words.complaints, name), 80)
        for name in words.READ
    },
}
