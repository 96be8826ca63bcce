"""The rows of the features: verbs, roles and reports of each. A feature is loaded when it is used.

A row names modules and objects below ``fabricgauge.features`` as "module" or "module:object". The
core asks for a role here and imports no feature; a feature imports the core and no other feature.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

#: Roles that the core asks a feature for:
#: simulator: ``simulation``, ``simulated_engine``, ``simulated_fabric``, ``prepared``
#: machines: ``start(state, nodes, notify)`` starts the virtual machines of a lab
#: scheduler: ``require``, ``write_files``, ``start_all`` and actions on daemons of a lab's Slurm
#: within_nodes: ``commands(request)`` and ``measure_gpus(…)`` for tools that stay inside a node
#: vary: ``vary(context, options, root, tolerance)`` measures settings in turns
#: predict: ``predict_times(a, b, root, options)`` predicts an application's communication time
#: predicted: ``predicted_blocks(a, b, mix, root)`` is that prediction as blocks of a report
#: paths_compared: ``compared_blocks(a, b)`` are two published listings as blocks; else none
#: stored: ``show_stored(directory, format, file)`` shows a stored result and returns its outcome,
#:     PASS if nothing judges it; None if it is another's
#: sweep: ``measure_sweep(words, stated, root, blocks, nodes)``
#: swept: ``read_varied(directory)`` reads the comparison that a sweep stored
#: swept_blocks: ``layer_blocks(varied)`` is what its layers cost, as blocks of a report
#: campaign: ``run_campaign(name, stated, root, printing)``, an exit status
#: soak: ``soak_network(context, seconds, share, answers, class, printing)`` names dips
#: classes: ``parse_classes(victim, bulk)`` and ``measure_classes(context, classes, printing)``
#: listed: ``list_stored(directory)`` describes a stored result for a list; None if another's
#: imported: ``import_file(path, options)`` shows a file; False if it is another's
Role = Literal[
    "simulator", "machines", "scheduler", "within_nodes", "vary", "predict", "stored", "listed",
    "imported", "soak", "classes", "sweep", "campaign", "predicted", "swept",
    "swept_blocks", "paths_compared",
]  # fmt: skip


class Feature(NamedTuple):
    """One row: ``verbs`` have a line of help; ``reports`` are kinds of report, each a ``KIND``.

    The commands of verbs are in the module ``verb``. A directory that the feature stored has one of
    ``files``.
    """

    name: str
    verbs: Mapping[str, str] = {}
    roles: Mapping[Role, str] = {}
    reports: Mapping[str, str] = {}
    files: tuple[str, ...] = ()

    def find_verb(self, verb: str) -> str:
        """Return the place of a verb's command, below ``fabricgauge.features``."""
        return f"{self.name}.verb:{verb}"


FEATURES: tuple[Feature, ...] = (
    Feature(
        "jobs",
        verbs={
            "submit": "Run a check as a Slurm job: write, submit, wait, judge.",
            "collect": "Judge the results of the jobs of an earlier submit.",
        },
    ),
    Feature(
        "application",
        verbs={
            "profile": "Run an application and show its MPI messages.",
            "scale": "Launch an application on 1, 2, 4, … nodes: speed-up, path proof.",
        },
        roles={
            "predict": "application.prediction_content:predict_times",
            "predicted": "application.prediction_content:predicted_blocks",
            "stored": "application.verb:show_stored",
            "listed": "application.verb:list_stored",
            "imported": "application.verb:import_file",
        },
        reports={
            "profile": "application.profile_content",
            "scale": "application.scale_content",
            "prediction": "application.prediction_content",
        },
        files=("scale.json", "raw/profile"),
    ),
    Feature(
        "path",
        verbs={"path": "Count what one MPI call executes; compare two such counts."},
        roles={
            "stored": "path.verb:show_stored",
            "listed": "path.verb:list_stored",
            "imported": "path.verb:import_file",
            "paths_compared": "path.verb:compared_blocks",
        },
        reports={"call_paths": "path.content", "call_path_changes": "path.changes_content"},
        files=("paths.json",),
    ),
    Feature(
        "configure",
        verbs={"configure": "Plan and set up the networks that a file describes."},
        reports={"plan": "configure.content"},
    ),
    Feature(
        "health",
        verbs={"health": "Check one node for a scheduler or a monitor, in seconds."},
    ),
    Feature(
        "demo",
        verbs={"demo": "On a virtual network: a PASS, a fault, the FAIL that names it."},
    ),
    Feature(
        "explain",
        verbs={"explain": "Explain a rule, a check, a threshold or a word of the reports."},
        reports={"explanation": "explain.verb"},
    ),
    Feature(
        "vary",
        roles={
            "vary": "vary.option:vary",
            "sweep": "vary.option:measure_sweep",
            "swept": "vary.vary:read_varied",
            "swept_blocks": "vary.content:layer_blocks",
            "stored": "vary.option:show_stored",
            "listed": "vary.option:list_stored",
        },
        reports={"varied": "vary.content"},
        files=("design.json",),
    ),
    Feature(
        "campaign",
        roles={
            "campaign": "campaign.option:run_campaign",
            "stored": "campaign.option:show_stored",
            "listed": "campaign.option:list_stored",
        },
        reports={"campaign": "campaign.content"},
        files=("campaign.json",),
    ),
    Feature(
        "references",
        verbs={"references": "Show the published results that ship, tables too."},
        reports={"references": "references.verb"},
    ),
    Feature("simulate", roles={"simulator": "simulate.simulator"}),
    Feature("rdma_lab", roles={"machines": "rdma_lab.start:start"}),
    Feature("slurm_lab", roles={"scheduler": "slurm_lab.cluster"}),
    Feature(
        "history",
        verbs={"history": "Show runs over time: drift, changes, baselines, a site, a sweep."},
        reports={
            "history_list": "history.list_content",
            "history_series": "history.series_content",
            "history_drift": "history.drift_content",
        },
    ),
    Feature(
        "soak",
        roles={"soak": "soak.soaking:soak_network", "stored": "soak.soaking:show_stored"},
        reports={"soak": "soak.content"},
        files=("soak.json",),
    ),
    Feature(
        "classes",
        roles={"classes": "classes.measuring", "stored": "classes.measuring:show_stored"},
        reports={"classes": "classes.content"},
        files=("classes.json",),
    ),
    Feature("gpu", roles={"within_nodes": "gpu.within_nodes"}),
)


def load_object(place: str) -> Any:
    """Load ``module`` or ``module:object`` below ``fabricgauge.features``."""
    module_name, _, name = place.partition(":")
    module = importlib.import_module(f"fabricgauge.features.{module_name}")
    return getattr(module, name) if name else module


def load_role(role: Role) -> Any:
    (offer,) = load_all(role)
    return offer


def load_all(role: Role, has: Callable[[str], bool] | None = None) -> Iterator[Any]:
    """Load what each feature with this role offers, in the order of the rows.

    ``has`` checks if a directory has a file or folder; features that cannot have stored that
    directory are then left out.
    """
    return (
        load_object(row.roles[role])
        for row in FEATURES
        if role in row.roles and (has is None or any(map(has, row.files)))
    )


def report_module(kind: str) -> str:
    for feature in FEATURES:
        if kind in feature.reports:
            return f"fabricgauge.features.{feature.reports[kind]}"
    return f"fabricgauge.report.content.{kind}"
