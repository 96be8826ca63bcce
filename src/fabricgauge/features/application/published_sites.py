"""Read a published table of call sites as an application's profile."""

from fabricgauge.features.application.profile_values import (
    ApplicationProfile,
    CallKind,
    CallMix,
    CallSite,
)
from fabricgauge.model.errors import UsageError
from fabricgauge.model.reference import Reference

COLUMNS = ("call", "site", "count", "total (bytes)", "average (bytes)", "sent (%)")

#: Calls of the published tables and their kinds; collectives have no sender of their own.
_POINT_TO_POINT = ("Send", "Isend")


def reference_profile(reference: Reference) -> ApplicationProfile:
    """Return a published table of call sites as an application's profile.

    Raises:
        UsageError: the reference has another table, or none.
    """
    table = reference.table
    if table is None or table.columns != COLUMNS:
        raise UsageError(f"{reference.name} is no table of call sites of a program")
    sites = tuple(
        CallSite(str(call), str(site), int(count), float(moved), float(mean), float(share) / 100)
        for call, site, count, moved, mean, share in table.rows
    )
    mix = tuple(_mix_of(site) for site in sites)
    return ApplicationProfile(
        reference.name, reference.software, 0, 0.0, 0.0, (), mix, source="mpiP",
        notes=(f"published in {reference.provenance}", reference.caveat), sites=sites,
    )  # fmt: skip


def _mix_of(site: CallSite) -> CallMix:
    kind: CallKind = "PointToPoint" if site.call in _POINT_TO_POINT else "Collective"
    least = 1 << int(site.mean_bytes).bit_length() >> 1
    moved = round(site.calls * site.mean_bytes)  # the size is the printed average
    return CallMix(site.call, kind, least, "unknown", 0, 0, site.calls, moved, 0.0, site.site)
