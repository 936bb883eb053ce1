"""A run is written to MLflow, which reads the model with nothing of it but the folder."""

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from glassformer.errors import UsageError
from glassformer.training import tracking
from glassformer.training.tracking import tracked
from tests.cli.terminal import QUICK, failed, glassformer, misused
from tests.fits import few_steps
from tests.trained import Trained


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """MLflow with a store in a folder."""
    found = pytest.importorskip("mlflow", reason="pip install 'glassformer[mlflow]' to write runs to MLflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # other local stores need more than mlflow-skinny
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.chdir(tmp_path)
    return found


@few_steps()
def test_a_run_has_its_settings_its_figures_its_report_and_its_model(
    mlflow: Any, reviews: Trained, tmp_path: Path
) -> None:
    import pandas as pd

    more = ("--seed", 7, "--track", "mlflow", "--json")
    said = glassformer("train", reviews.table, "--out", tmp_path / "model", *QUICK, *more)
    assert said.code == 0, said.err
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([client.get_experiment_by_name("Default").experiment_id])
    assert f"as run {run.info.run_id}" in said.err
    assert (run.info.status, run.info.run_name) == ("FINISHED", "model")
    assert run.data.params["training.seed"] == "7"
    assert run.data.params["data.source"] == str(reviews.table)
    history = said.document["history"]
    losses = client.get_metric_history(run.info.run_id, "train_loss")
    assert [(each.step, each.value) for each in losses] == [(row["epoch"], row["train_loss"]) for row in history]
    assert run.data.metrics["readers.accuracy"] == said.document["readers"]["accuracy"]
    assert [each.path for each in client.list_artifacts(run.info.run_id)] == ["report.html"]
    (model,) = client.search_logged_models([run.info.experiment_id])
    assert model.status == "READY"
    loaded = mlflow.pyfunc.load_model(model.artifact_location)
    found = loaded.predict(pd.DataFrame({"text": ["good film", None]}, index=[7, 9]))
    assert found["prediction"].isna().to_dict() == {7: False, 9: True}
    assert [*found.columns] == [column.name for column in loaded.metadata.get_output_schema()]
    assert [*found.columns[:3]] == ["prediction", "confidence", "probability_not, good"]
    about = (Path(model.artifact_location.removeprefix("file://")) / "MLmodel").read_text(encoding="utf-8")
    assert "loader_module: glassformer.prediction.on_mlflow" in about
    assert "code: null" in about


@few_steps()
def test_epochs_are_written_while_training_runs(
    mlflow: Any, reviews: Trained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A store that once takes nothing is asked again at the end alone."""
    log, settings, tried = mlflow.log_metrics, mlflow.log_params, list[int]()

    def logged(figures: dict[str, float], step: int | None = None) -> None:
        if step is not None:
            tried.append(step)
        if step == 2 and tried.count(2) == 1:
            raise mlflow.MlflowException("the store is away")
        log(figures, step=step)

    def at_the_end(given: dict[str, Any]) -> None:
        tried.append(0)
        settings(given)

    monkeypatch.setattr(mlflow, "log_metrics", logged)
    monkeypatch.setattr(mlflow, "log_params", at_the_end)
    more = ("--set", "training.epochs=3", "--set", "training.patience=9", "--track", "mlflow")
    outcome = glassformer("train", reviews.table, "--out", tmp_path / "model", *QUICK, *more)
    assert outcome.code == 0
    assert outcome.err.count("takes no figures now (the store is away); it gets them at the end") == 1
    assert tried == [1, 2, 0, 2, 3]
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([client.get_experiment_by_name("Default").experiment_id])
    assert [each.step for each in client.get_metric_history(run.info.run_id, "train_loss")] == [1, 2, 3]


@few_steps()
def test_a_store_that_goes_away_costs_no_model(
    mlflow: Any, reviews: Trained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As if its folder were deleted, MLflow raises errors of any kind, and once more as the run is to end."""

    def gone(*_: Any, **__: Any) -> None:
        raise Exception("the store does not exist")

    for place, name in ((mlflow, "log_metrics"), (mlflow, "log_params"), (mlflow.MlflowClient, "set_terminated")):
        monkeypatch.setattr(place, name, gone)
    outcome = glassformer("train", reviews.table, "--out", tmp_path / "model", *QUICK, "--track", "mlflow")
    failed(outcome, "model is complete, but MLflow at", "did not take it: the store does not exist")
    assert "takes no figures now (the store does not exist)" in outcome.err
    assert (tmp_path / "model" / "config.json").is_file()
    with pytest.raises(ZeroDivisionError), tracked("mlflow", tmp_path / "model"):
        raise ZeroDivisionError


def test_a_run_that_fails_is_shown_as_failed(mlflow: Any, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), tracked("mlflow", tmp_path / "model"):
        raise ZeroDivisionError
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([client.get_experiment_by_name("Default").experiment_id])
    assert run.info.status == "FAILED"


def test_a_store_that_cannot_be_used_is_said_before_training(
    mlflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://a")
    assert mlflow
    with pytest.raises(UsageError, match=r"MLflow at nowhere://a .* cannot be used: "), tracked("mlflow", tmp_path):
        raise AssertionError("nothing is trained")


def test_without_an_address_the_message_says_what_the_store_needs(
    mlflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """MLflow then takes a database, which `mlflow-skinny` cannot read."""
    monkeypatch.setattr(tracking, "is_installed", lambda package: package != "sqlalchemy")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////nonexistent/mlflow.db")
    assert mlflow
    with pytest.raises(UsageError, match=r"such a store needs `pip install mlflow`"), tracked("mlflow", tmp_path):
        raise AssertionError("nothing is trained")


def test_a_server_that_never_answers_is_given_up_soon(
    mlflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in tracking._QUIET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(tracking._QUIET, "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert int(tracking._QUIET["MLFLOW_HTTP_REQUEST_TIMEOUT"]) <= 20
    monkeypatch.setitem(tracking._QUIET, "MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    assert mlflow
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(UsageError, match="Read timed out"), tracked("mlflow", tmp_path):
            raise AssertionError("nothing is trained")


def test_a_store_that_is_no_folder_is_named(mlflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "a.csv").as_uri())
    assert mlflow
    with pytest.raises(UsageError, match=r"MLflow at file://.*a\.csv .* cannot be used: "), tracked("mlflow", tmp_path):
        raise AssertionError("nothing is trained")


@pytest.mark.parametrize(
    "address",
    [
        *("http://anna:pass7316@127.0.0.1:1/a?token=pass7316", "sqlite://anna:pass7316@a/b"),
        *("sqlite://anna:pa/ss7316@a/b", "nowhere://anna:p@/?ss7316@a/b"),
    ],
)
def test_the_password_of_a_store_is_not_shown(
    mlflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert mlflow
    with pytest.raises(UsageError, match=r"cannot be used: ") as refused, tracked("mlflow", tmp_path):
        raise AssertionError("nothing is trained")
    assert "7316" not in str(refused.value)


def test_a_tracker_is_one_that_is_known_and_installed(
    reviews: Trained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    asked = ("train", reviews.table, "--out", tmp_path / "model", *QUICK, "--track")
    misused(glassformer(*asked, "mlflow"), "--track mlflow needs MLflow, which is not installed: pip install")
    misused(glassformer(*asked, "wandb"), "--track wandb: the trackers are mlflow")
    assert not (tmp_path / "model").exists()
