"""The JSON schemas of everything that the program prints as JSON, made of its own types."""

import json
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import jsonschema
import msgspec

from fabricgauge.features.application.prediction import Prediction
from fabricgauge.features.application.profile_values import ApplicationProfile
from fabricgauge.features.application.scaling import Scaled
from fabricgauge.features.campaign.campaign_file import CampaignResult
from fabricgauge.features.classes.judging import MeasuredClasses
from fabricgauge.features.configure.job import Configuration
from fabricgauge.features.explain.verb import Entry
from fabricgauge.features.history.changes import ChangePoint
from fabricgauge.features.history.values import RunRow, SeriesKey
from fabricgauge.features.path.values import CallPaths, PathComparison
from fabricgauge.features.soak.soaking import Soaked
from fabricgauge.lab.up import LabStatus
from fabricgauge.model.comparison import Comparison
from fabricgauge.model.evidence import WireLedger
from fabricgauge.model.fabric import Network, Unreached
from fabricgauge.model.finding import Finding
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.judged import FamilyVerdict, Judged, TableVerdict
from fabricgauge.model.reference import Reference
from fabricgauge.model.run import Run, StoredRun
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.surveyed import LikeNodes, Surveyed
from fabricgauge.model.varied import Varied
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report.interface import ConcurrentCase

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "schemas"

REFERENCE = "#/$defs/{name}"
COMMENT = (
    "Written by scripts/write-json-schemas. A number that is null is unknown or without bound. A"
    " reader accepts further fields: newer versions with the same major number add some."
)

_JUDGED = {field.name: field.type for field in msgspec.structs.fields(Judged)}
_SURVEYED = {field.name: field.type for field in msgspec.structs.fields(Surveyed)}


class HistoryPoint(TypedDict):
    """A figure of one run; ``half_width`` is unknown if it had one sample."""

    run: str
    started_s: float
    value: float
    half_width: float | None


class HistorySeries(TypedDict):
    key: SeriesKey
    place: tuple[str, ...]
    unit: str
    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...]


class DriftShift(TypedDict):
    """A change of the level as a share, with its interval."""

    share: float
    low: float
    high: float
    confidence: float


class DriftAlarm(TypedDict):
    key: SeriesKey
    place: tuple[str, ...]
    shift: DriftShift
    level: float
    reference_level: float
    since: str
    window: int
    reference: int
    chance: float
    changed: tuple[str, ...]


class SilentSeries(TypedDict):
    key: SeriesKey
    place: tuple[str, ...]


#: Documents by the name behind ``fabricgauge-`` in their field ``format``: fields and types.
DOCUMENTS: dict[str, dict[str, Any]] = {
    "report": {
        "overall": Outcome, "headline": str, "virtual": bool, "judged_utc": str,
        "rules_version": str, "verdicts": tuple[Verdict, ...], "ceilings": _JUDGED["ceilings"],
        "curves": _JUDGED["curves"], "run": Run, "against": tuple[SuiteCurve, ...],
        "simulated": bool, "matrices": list[dict[str, Any]],
        "together": tuple[ConcurrentCase, ...], "wire": tuple[WireLedger, ...],
        "tables": tuple[TableVerdict, ...], "families": tuple[FamilyVerdict, ...],
        "emulated": bool,
    },
    "discovery": {
        "virtual": bool, "nodes": tuple[Inventory, ...], "unreached": tuple[Unreached, ...],
        "networks": tuple[Network, ...], "ports": _SURVEYED["ports"],
        "ceilings": _SURVEYED["ceilings"], "classes": tuple[LikeNodes, ...],
        "limits": tuple[Finding, ...], "unread": tuple[str, ...],
    },
    "comparison": {"headline": str, "comparison": Comparison},
    "varied": {"headline": str, "varied": Varied},
    "campaign": {"headline": str, "outcome": Outcome, "result": CampaignResult},
    "soak-report": {"overall": Outcome, "headline": str, "soak": Soaked},
    "classes-report": {"overall": Outcome, "headline": str, "classes": MeasuredClasses},
    "history-list": {"runs": tuple[RunRow, ...]},
    "history-series": {"series": tuple[HistorySeries, ...]},
    "history-drift": {
        "outcome": Outcome, "series": int, "short": int, "silent": tuple[SilentSeries, ...],
        "false_alarms": float, "allowed": float, "alarms": tuple[DriftAlarm, ...],
    },
    "references": {"references": tuple[Reference, ...]},
    "runs": {"roots": tuple[str, ...], "runs": tuple[StoredRun, ...], "older": int},
    "explanation": {"entries": tuple[Entry, ...]},
    "profile": {
        "headline": str, "complete": bool, "wall_s": float, "mpi_share": float,
        "overhead_share": float, "profile": ApplicationProfile,
    },
    "scale": {"overall": Outcome, "headline": str, "scale": Scaled},
    "prediction": {"headline": str, "prediction": Prediction},
    "call-path-changes": {"headline": str, "comparison": PathComparison},
    "configuration": {
        field.name: field.type for field in msgspec.structs.fields(Configuration)
    },
}  # fmt: skip


class Preflight(TypedDict):
    """The document of ``doctor``."""

    doctor: int
    conclusion: str
    nodes: tuple[str, ...]
    networks: tuple[str, ...]
    seconds: float
    findings: tuple[Finding, ...]
    checks: list[dict[str, Any]]
    untried: Any
    unread: tuple[str, ...]
    troubles: dict[str, Any]


#: Documents of another form, by name: their type.
OTHERS: dict[str, Any] = {
    "call-paths": CallPaths,
    "lab-status": tuple[LabStatus, ...],
    "preflight": Preflight,
}


def schemas() -> dict[str, str]:
    """The text of each schema by the name of its file."""
    types = {name: _document(name, fields) for name, fields in DOCUMENTS.items()} | OTHERS
    return {f"{name}.json": _written(name, type_) for name, type_ in types.items()}


def read_schema(name: str) -> dict[str, Any]:
    """Return a published schema."""
    read: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return read


def require_fit(name: str, document: Any) -> None:
    """Check that a printed document fits its published schema, and has no field beside it."""
    published = read_schema(name)
    jsonschema.Draft202012Validator(published).validate(document)
    described = published["$defs"][published["$ref"].rpartition("/")[2]]["properties"]
    assert set(document) == set(described)


def _document(name: str, fields: dict[str, Any]) -> Any:
    head = {"format": Literal[f"fabricgauge-{name}"], "version": str}
    return TypedDict(_title(name), {**head, **fields})  # type: ignore[operator]


def _title(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-")) + "Document"


def _written(name: str, type_: Any) -> str:
    alternatives: list[Any] = []
    opened = _opened(type_, alternatives)
    (root, *_), components = msgspec.json.schema_components(
        [opened, *alternatives], schema_hook=lambda _: {}, ref_template=REFERENCE
    )
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"fabricgauge {name}",
        "$comment": COMMENT,
        **root,
        "$defs": components,
    }
    return json.dumps(_with_unknown(document), indent=1, ensure_ascii=False) + "\n"


def _opened(type_: Any, alternatives: list[Any]) -> Any:
    """The type with ``A | B`` of two structs, which msgspec cannot read, as a choice of schemas."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        fields = msgspec.structs.fields(type_)
        opened = [(field.name, _opened(field.type, alternatives)) for field in fields]
        if all(new is field.type for (_, new), field in zip(opened, fields, strict=True)):
            return type_
        return msgspec.defstruct(type_.__name__, opened)
    if is_typeddict(type_):
        fields_of_dict = get_type_hints(type_).items()
        return TypedDict(  # type: ignore[operator]
            type_.__name__, {key: _opened(kind, alternatives) for key, kind in fields_of_dict}
        )
    parts = get_args(type_)
    structs = [p for p in parts if isinstance(p, type) and issubclass(p, msgspec.Struct)]
    if get_origin(type_) in (Union, UnionType) and len(structs) > 1 and not _tagged(structs):
        alternatives += structs
        references: list[dict[str, str]] = [
            {"$ref": REFERENCE.format(name=part.__name__)} for part in structs
        ]
        if type(None) in parts:
            references.append({"type": "null"})
        return Annotated[Any, msgspec.Meta(extra_json_schema={"anyOf": references})]
    if get_origin(type_) is tuple:
        opened_parts = tuple(_opened(part, alternatives) for part in parts)
        return type_ if opened_parts == parts else tuple[opened_parts]  # type: ignore[valid-type]
    return type_


def _tagged(structs: list[type[msgspec.Struct]]) -> bool:
    return all(struct.__struct_config__.tag is not None for struct in structs)


def _with_unknown(schema: Any) -> Any:
    """A float that is NaN or infinite is null in JSON."""
    if isinstance(schema, list):
        return [_with_unknown(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _with_unknown(item) for key, item in schema.items()}
    if changed.get("type") == "number":
        changed["type"] = ["number", "null"]
    return changed
