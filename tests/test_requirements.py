"""The locked versions are those that the package asks for."""

import re
from pathlib import Path

from packaging.requirements import Requirement

from fabricgauge.store.files import toml

TOP = Path(__file__).parents[1]


def test_each_dependency_is_bounded_and_locked_with_hashes() -> None:
    project = toml.loads((TOP / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["mpi"]]
    lock = (TOP / "requirements.lock").read_text()
    pins: dict[str, list[str]] = {}
    for name, version, rest in re.findall(r"^([\w.-]+)==(\S+)((?:.*\\\n)*.*)", lock, re.M):
        assert "--hash=sha256:" in rest, name
        pins.setdefault(name.lower(), []).append(version)
    for requirement in map(Requirement, wanted):
        versions = pins[requirement.name.lower()]
        assert any(bound.operator == "<" for bound in requirement.specifier), requirement
        assert all(requirement.specifier.contains(version) for version in versions), requirement
