"""All checks on one preflight, and what came of them."""

from collections.abc import Collection, Iterable

import msgspec

from fabricgauge.doctor.checks import CHECKS
from fabricgauge.doctor.fold import folded
from fabricgauge.doctor.grouping import together
from fabricgauge.doctor.interface import Check
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Checked
from fabricgauge.model.preflight import Preflight


def examine(preflight: Preflight, wanted: Collection[str] | None = None) -> tuple[Checked, ...]:
    """What each check finds; ``wanted`` are the checks that look, all without it.

    A finding is only put under another one that is shown.
    """
    looking = [check for check in CHECKS if wanted is None or check.ID in wanted]
    return tuple(
        msgspec.structs.replace(one, findings=together(one.findings))
        for one in folded([_checked(check, preflight) for check in looking])
    )


def chosen(only: Iterable[str], skip: Iterable[str]) -> tuple[str, ...]:
    """The checks that ``--only`` and ``--skip`` leave.

    Raises:
        UsageError: a check that there is none of, or none is left.
    """
    known = [check.ID for check in CHECKS]
    asked, left_out = list(only), list(skip)
    for name in (*asked, *left_out):
        if name not in known:
            raise UsageError(f"no check {name!r}; there is {', '.join(known)}")
    found = tuple(name for name in known if name in (asked or known) and name not in left_out)
    if not found:
        raise UsageError("--only and --skip leave no check")
    return found


def _checked(check: Check, preflight: Preflight) -> Checked:
    found = check.look(preflight)
    if isinstance(found, Skipped):
        return Checked(check.ID, check.TITLE, (), found)
    return Checked(check.ID, check.TITLE, found)
