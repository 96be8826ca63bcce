"""Names and what comes of them."""

import subprocess
import sys

import pytest

from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.logs.references import interface
from fabricgauge.logs.references.interface import names, reference
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError


def test_names_fail_when_one_is_given_twice() -> None:
    assert len(names()) == len(set(names()))
    assert "guide-1gbe-osu-put-bw" in names()


@pytest.mark.parametrize("name", names())
def test_reference_fails_when_it_is_not_the_one_asked_for(name: str) -> None:
    assert reference(name).name == name


def test_reference_fails_when_a_slip_gets_no_close_match() -> None:
    with pytest.raises(UsageError, match="did you mean guide-1gbe-osu-put-bw"):
        reference("guide-1gbe-osu-putbw")


def test_reference_fails_when_a_part_of_a_name_gets_no_hint() -> None:
    with pytest.raises(UsageError, match="did you mean tutorial-slingshot-11-mpi"):
        reference("slingshot")


def test_reference_fails_when_a_strange_name_gets_no_list() -> None:
    with pytest.raises(UsageError, match="the names are: chelsio-10gbe-iwarp, "):
        reference("../../etc/passwd")
    with pytest.raises(UsageError, match="no reference is called ''"):
        reference("")


def test_reference_fails_when_other_documents_are_read_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    content = interface.content

    def told(stem: str) -> interface.ReferenceFile:
        read.append(stem)
        return content(stem)

    monkeypatch.setattr("fabricgauge.logs.references.interface.content", told)
    reference("opx-gains")
    assert set(read) == {"opx"}


def test_import_fails_when_it_reads_a_file_already() -> None:
    program = (
        "import fabricgauge.logs.references.interface as files;"
        "print(files.stems.cache_info().misses + files.content.cache_info().misses)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("name", names())
def test_reference_fails_when_its_network_cannot_be_stated(name: str) -> None:
    words = reference(name).network
    if words:
        assert isinstance(ceiling(stated_network(words)), Ceiling)
