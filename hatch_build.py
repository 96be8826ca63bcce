"""Put the ready-made programs into the wheel of a release; other wheels have none.

``make wheels`` sets FABRICGAUGE_PROGRAMS to the folder that ``scripts/build-programs`` wrote.
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ReadyMadePrograms(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("FABRICGAUGE_PROGRAMS", "")
        if folder and version == "standard":
            build_data["force_include"][folder] = "fabricgauge/_programs"
