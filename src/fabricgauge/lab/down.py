"""Remove a lab, whatever state it is in, and nothing but the lab."""

import shutil

from fabricgauge.lab.holder import kill
from fabricgauge.lab.place import existing
from fabricgauge.lab.state import load_marks
from fabricgauge.model.errors import LabError


def down(name: str) -> bool:
    """End every process of a lab and remove its directory; false if there was no such lab.

    Its interfaces go with its namespaces. Works on a lab that did not come up completely,
    that lost processes, or that an earlier boot of the machine left behind.

    Raises:
        LabError: a process does not end, or the directory is not this user's alone or
            cannot be removed.
    """
    directory = existing(name)
    if directory is None:
        return False
    marks = load_marks(directory)
    if marks:
        kill(marks)
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:  # another `down` was quicker
        pass
    except OSError as error:
        raise LabError(f"cannot remove {directory}: {error.strerror}; remove it by hand") from error
    return True
