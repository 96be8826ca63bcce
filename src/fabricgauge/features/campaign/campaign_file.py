"""Read and check a campaign: its format, its names, what its parts ask for; hold its results."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from fabricgauge.judge.interface import worst
from fabricgauge.model.errors import UsageError
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.files import toml
from fabricgauge.store.files.reading import read_text, shown

FORMAT, VERSION = "fabricgauge-campaign", 1
#: Largest file of a campaign; the shipped ones have a hundredth of it.
MAX_FILE_BYTES = 1 << 20
#: Parts of one campaign: each may take minutes.
MAX_PARTS = 64

#: A name within a page and a message.
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,39}\Z")]


class LeftOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name a thing that the document has and the campaign lacks, with the reason."""

    what: str
    why: str


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe one part of the page: its measurements, and the references beside it.

    ``patterns``, ``sizes``, ``tool``, ``transport``, ``ppn``, ``launches`` and ``profile`` are
    words of ``check``'s options; ``vary`` are those of ``compare --vary``, which measures all
    levels in turns. ``plots`` of a curve of times are ``time``, its ``throughput``, or both.
    ``compare`` are two references, shown together: listings of a call's instructions are compared
    by function; ``predict`` is a message mix whose times the curves of both predict. A part
    without anything to measure shows its references. It uses at most ``most_nodes``, 0 for all,
    and makes sense on ``least_nodes``.
    """

    name: Name
    title: str
    note: str = ""
    patterns: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    tool: str = ""
    transport: str = ""
    mpi: str = ""
    ppn: int = 0
    launches: int = 0
    profile: Literal["", "quick", "standard", "full"] = ""
    vary: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    compare: tuple[str, ...] = ()
    predict: str = ""
    plots: tuple[Literal["time", "throughput"], ...] = ("time",)
    least_nodes: int = 2
    most_nodes: int = 0

    @property
    def measures(self) -> bool:
        return bool(self.patterns or self.tool or self.vary)


class Campaign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a campaign as its file has it; ``document`` names the source whose pages it follows."""

    format: str
    version: int
    name: Name
    title: str
    part: tuple[Part, ...]
    about: str = ""
    document: str = ""
    left_out: tuple[LeftOut, ...] = ()


def shipped_names() -> tuple[str, ...]:
    entries = (files(__package__) / "shipped").iterdir()
    return tuple(sorted(entry.name[:-5] for entry in entries if entry.name.endswith(".toml")))


def find_campaign(named: str) -> Campaign:
    """Return a shipped campaign by its name, or that of a file.

    Raises:
        UsageError: there is none, or the file is invalid; the message names the file and the place.
    """
    if named in shipped_names():  # a file of the same name needs a path: ./validation
        resource = files(__package__) / "shipped" / f"{named}.toml"
        return read_campaign(resource.read_text(encoding="utf-8"), f"{named}.toml")
    path = Path(named)
    if not path.is_file():
        raise UsageError(
            f"no campaign is called {shown(named)!r}, and no file is; shipped:"
            f" {', '.join(shipped_names())}"
        )
    try:
        text = read_text(path, most_bytes=MAX_FILE_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {shown(named)}: {error.strerror}") from error
    return read_campaign(text, shown(named))


def read_campaign(text: str, place: str) -> Campaign:
    """Parse and check the text of a campaign; ``place`` names it in messages.

    Raises:
        UsageError: it is not of this format and version, or a part cannot be measured or shown.
    """
    try:
        content: dict[str, Any] = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise UsageError(f"{place}: {error}") from error
    if content.get("format") != FORMAT or content.get("version") != VERSION:
        raise UsageError(
            f"{place}: this program reads campaigns of format {FORMAT!r}, version {VERSION}; the"
            f" file has format {content.get('format')!r}, version {content.get('version')!r}"
        )
    try:
        campaign = msgspec.convert(content, Campaign)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place}: {error}") from error
    _require_parts(campaign, place)
    return campaign


def _require_parts(campaign: Campaign, place: str) -> None:
    if not 0 < len(campaign.part) <= MAX_PARTS:
        raise UsageError(
            f"{place}: a campaign has 1 to {MAX_PARTS} parts, not {len(campaign.part)}"
        )
    names = [part.name for part in campaign.part]
    for part in campaign.part:
        where = f"{place}: part {part.name!r}"
        if names.count(part.name) > 1:
            raise UsageError(f"{where} stands twice; name each part once")
        try:
            _require_part(part)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error


def _require_part(part: Part) -> None:
    from fabricgauge.check.plan.cases import check_word
    from fabricgauge.check.plan.design import parse_factor
    from fabricgauge.logs.references.interface import reference
    from fabricgauge.logs.tools.table import TOOLS, read_tool
    from fabricgauge.store.settings import size_bytes

    for word in part.patterns:
        check_word(word)
    for word in part.sizes:
        size_bytes(word)
    for word in part.vary:
        parse_factor(word)
    for name in (*part.references, *part.compare, *((part.predict,) if part.predict else ())):
        reference(name)
    if part.tool and read_tool(part.tool).suite not in TOOLS:
        raise UsageError(f"unknown suite {part.tool!r}; available: {', '.join(TOOLS)}")
    if part.tool and (part.patterns or part.sizes):
        raise UsageError("patterns and sizes have no effect on a suite's tests; leave them out")
    if part.compare and len(part.compare) != 2:
        raise UsageError(f"compare takes two references, not {len(part.compare)}")
    if part.predict and not part.compare:
        raise UsageError("predict takes the two references of compare")
    if part.compare and part.measures:
        raise UsageError("a part compares references or measures, not both")
    if not (part.measures or part.references or part.compare):
        raise UsageError("it measures nothing and shows no reference")


RESULT_FILE = "campaign.json"
RESULT_FORMAT, RESULT_VERSION = "fabricgauge-campaign-result", "1.0"


class PartResult(msgspec.Struct, frozen=True):
    """Hold the outcome of one part.

    ``folder`` is its run below the campaign's directory, empty without one; ``outcome`` and
    ``headline`` are the run's. ``left_out`` is the reason why nothing was measured; ``broken``
    tells that it is an error, not a program or a node that is not there.
    """

    name: str
    folder: str = ""
    outcome: str = ""
    headline: str = ""
    left_out: str = ""
    broken: bool = False
    wall_s: float = 0.0


class CampaignResult(msgspec.Struct, frozen=True):
    """Hold a campaign with the results so far, in the order of its parts."""

    format: str
    version: str
    identity: str
    started_utc: str
    campaign: Campaign
    parts: tuple[PartResult, ...] = ()

    @property
    def complete(self) -> bool:
        return len(self.parts) == len(self.campaign.part)


def part_outcome(judged: Judged) -> Outcome:
    """Return a run's outcome; a part without a one-way stream is not undecided for that alone."""
    undecided = [verdict for verdict in judged.verdicts if verdict.outcome is Outcome.INCONCLUSIVE]
    without_stream = all(
        verdict.rule == "fraction" and verdict.about.kind == "network" for verdict in undecided
    )
    if judged.overall is not Outcome.INCONCLUSIVE or not without_stream:
        return judged.overall
    return worst(
        (verdict.outcome for verdict in judged.verdicts if verdict not in undecided),
        empty=Outcome.INCONCLUSIVE,
    )
