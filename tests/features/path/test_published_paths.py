"""Published listings of a call's instructions, compared as traced paths are."""

from pathlib import Path

import msgspec
import pytest

from fabricgauge.features.path.changes_content import compare_paths, headline
from fabricgauge.features.path.recording import stored_paths
from fabricgauge.features.path.sde import reference_paths
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.errors import UsageError

PSM2, OPX = "opx-send-instructions-psm2", "opx-send-instructions-opx"


def test_the_talk_s_listings_are_903_and_630_instructions(tmp_path: Path) -> None:
    comparison = compare_paths(stored_paths(tmp_path, PSM2), stored_paths(tmp_path, f"ref:{OPX}"))
    (change,) = comparison.changes
    assert (change.a.call.instructions, change.b.call.instructions) == (903, 630)
    libraries = {
        part.library: (part.a_instructions, part.b_instructions) for part in change.libraries
    }
    assert libraries["libpsm2"] == (489, 0)
    assert libraries["libfabric"] == (0, 256)
    assert "cache lines" not in headline(comparison)


def test_rows_that_do_not_sum_up_to_their_total_are_refused() -> None:
    listing = reference(PSM2)
    assert listing.table is not None
    rows = tuple(row for row in listing.table.rows if row[0] != "libmpi.so.12:MPI_Send")
    table = msgspec.structs.replace(listing.table, rows=rows)
    with pytest.raises(UsageError, match="its total is 903"):
        reference_paths(msgspec.structs.replace(listing, table=table))
    with pytest.raises(UsageError, match="no table of a call's instructions"):
        reference_paths(reference("opx-cache-lines"))
