"""Put the ready-made programs into the wheel of a release; other wheels have none.

``make wheels`` sets FABRICGAUGE_PROGRAMS to the folder that ``scripts/build-programs`` wrote.
Programs that were built from other sources of the engine are refused.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ReadyMadePrograms(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("FABRICGAUGE_PROGRAMS", "")
        if not folder or version != "standard":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "scripts"))
        from engine_digest import find_stale

        if reason := find_stale(Path(folder), root / "engine"):
            raise SystemExit(f"no wheel was made: {reason}. Run `make wheels`")
        build_data["force_include"][folder] = "fabricgauge/_programs"
