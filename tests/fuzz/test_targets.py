"""A short round of the fuzzer on all that reads; a great many inputs with ``make fuzz``."""

from pathlib import Path

import pytest
from hypothesis import settings
from tests.fuzz import __main__ as fuzz
from tests.fuzz.mutations import FIXTURES
from tests.fuzz.targets import TARGETS, Target

SEED = 7
#: Of targets that are quick or large so many times the profile's examples; of others three times.
EACH = {"logs": 15, "surveys": 8, **{name: 15 for name in TARGETS if name.startswith("file ")}}
FOUND = tuple(sorted((FIXTURES / "fuzz").rglob("*.in")))


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_broken_is_read_or_refused(name: str) -> None:
    done = fuzz.tried((name, 0), SEED, EACH.get(name, 3) * settings().max_examples)
    assert done.faults == {} and done.inputs > 0


@pytest.mark.parametrize("file", FOUND, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_what_was_found_once_stays_mended(file: Path) -> None:
    assert fuzz.complaints(file.parent.name, file.read_bytes()) == []


def test_what_raises_hangs_or_is_complained_of_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(content: bytes) -> list[str]:
        if b"x" in content:
            raise KeyError("x")
        while b"h" in content:
            pass
        return ["it is wrong"] if b"w" in content else []

    inputs = (b"x one\n", b"sound\n", b"h\n", b"w\n")
    monkeypatch.setattr(fuzz, "HANG_S", 0.1)
    target = Target(lambda _seed, number: inputs[number % len(inputs)], wrong, 1)
    monkeypatch.setitem(TARGETS, "wrong", target)
    words = ["--inputs", "8", "--only", "wrong", "--processes", "1", "--save", str(tmp_path)]
    assert fuzz.main(words) == 1
    assert sorted(file.read_bytes() for file in tmp_path.rglob("*.in")) == [b"h", b"w", b"x"]
    said = capsys.readouterr().out
    assert "seed 1, 8 inputs" in said and "KeyError" in said and "still reading" in said


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = Target(lambda _seed, _number: b"x", lambda _content: [str(len(bytearray(2 << 30)))], 1)
    monkeypatch.setitem(TARGETS, "large", target)
    words = ["--inputs", "1", "--only", "large", "--processes", "1", "--save", str(tmp_path)]
    assert fuzz.main(words) == 1


def test_a_sound_target_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--inputs", "10", "--only", "printout lshw", "printout opainfo", "--processes", "1"]
    assert fuzz.main([*words, "--save", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("0 kinds of faults") == 3
