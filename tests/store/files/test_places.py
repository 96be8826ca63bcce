"""Where a user's own files are."""

from pathlib import Path

import pytest

from fabricgauge.features.configure import journal
from fabricgauge.nodes.engines.build import cache_folder
from fabricgauge.store import settings


@pytest.mark.parametrize("said", ["", "relative/path", "."])
def test_a_relative_place_is_ignored(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", said)
    monkeypatch.setenv("HOME", "/home/x")
    assert [settings.user_file(), settings.run_root(), cache_folder(), journal.root()] == [
        Path("/home/x/.config/fabricgauge/config.toml"),
        Path("/home/x/.local/share/fabricgauge/runs"),
        Path("/home/x/.cache/fabricgauge/engines"),
        Path("/home/x/.local/state/fabricgauge/configure"),
    ]
