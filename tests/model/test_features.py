"""The rows of the features: which of them may have stored a directory."""

import pytest

from fabricgauge.model.features import FEATURES, Feature, load_all


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_that_stores_names_its_files(feature: Feature) -> None:
    stores = {"stored", "listed"} & set(feature.roles)

    assert bool(stores) == bool(feature.files)


def test_no_feature_is_asked_about_a_measured_run() -> None:
    run_files = {"run.json", "fabric.json", "plan.json", "results.jsonl", "raw"}

    assert list(load_all("stored", run_files.__contains__)) == []


def test_the_feature_that_stored_a_directory_is_asked() -> None:
    assert [show.__module__ for show in load_all("stored", {"soak.json"}.__contains__)] == [
        "fabricgauge.features.soak.soaking"
    ]
