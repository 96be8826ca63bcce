import os
from pathlib import Path

import pytest

from fabricgauge.model.errors import UsageError
from fabricgauge.store.settings import load, rate_bit_s, size_bytes


@pytest.mark.parametrize(
    ("text", "rate"),
    [("1G", 1e9), ("100M", 1e8), ("25Gb/s", 25e9), ("2.5g", 2.5e9), ("1000000000", 1e9)],
)
def test_rates_are_read_in_the_fields_spellings(text: str, rate: float) -> None:
    assert rate_bit_s(text) == rate


@pytest.mark.parametrize("text", ["", "fast", "-1G", "0", "1 GB per s", "1e9"])
def test_what_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="25Gb/s"):
        rate_bit_s(text)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("8", 8), ("64K", 65536), ("4MiB", 4 << 20), ("8 B", 8)]
)
def test_sizes_count_powers_of_1024(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "x", "-8", "1.5K", "4TB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="message size"):
        size_bytes(text)


def test_the_users_file_wins_over_the_sites_key_by_key(tmp_path: Path) -> None:
    site, user = tmp_path / "site.toml", tmp_path / "user.toml"
    site.write_text(
        '[check]\nprofile = "full"\nlaunches = 7\n[thresholds]\n"fraction.pass" = 0.9\n'
        '[[network]]\nname = "fast"\nsubnet = "10.0.0.0/24"\nrate = "25G"\n'
    )
    user.write_text('[check]\nprofile = "quick"\n')
    settings = load((site, user))
    assert settings.verbs["check"] == {"profile": "quick", "launches": 7}
    assert settings.thresholds == {"fraction.pass": 0.9}
    assert str(site) in settings.thresholds_origin
    assert settings.networks[0].rate_bit_s == 25e9
    assert str(site) in settings.networks[0].origin


def test_no_file_at_all_is_no_error(tmp_path: Path) -> None:
    assert load((tmp_path / "none.toml",)).verbs["check"] == {}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("[check", "not TOML"),
        ("[chekc]\n", "chekc"),
        ('[thresholds]\n"fraction.pass" = "high"\n', "fraction.pass"),
        ('[[network]]\nname = "a"\n', "subnet"),
        ("check = 3\n", r"\[check\]"),
        ("network = 3\n", r"\[\[network\]\]"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, content: str, named: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(content)
    with pytest.raises(UsageError, match=named) as error:
        load((path,))
    assert str(path) in str(error.value)


def test_a_nested_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("x = " + "[" * 100_000)
    with pytest.raises(UsageError, match="is not TOML"):
        load((file,))


def test_a_file_that_others_can_change_is_not_obeyed(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[check]\nmpi = '/evil/mpicxx'\n")
    file.chmod(0o666)
    with pytest.raises(UsageError, match="is not used.*may be written by others"):
        load((file,))


def test_a_pipe_is_not_waited_for_and_a_long_file_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "long").open("wb") as file:
        file.truncate(1 << 40)
    for name, said in {"pipe": "it is a pipe", "long": "longer than"}.items():
        with pytest.raises(UsageError, match=said):
            load((tmp_path / name,))
