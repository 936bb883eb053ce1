import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.sources import Sources
from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.record import Estimate
from glassformer.experiments.keeper import read_kept
from glassformer.experiments.pages import search_page
from glassformer.experiments.search import rows, search, trial
from glassformer.experiments.search.halving import Halving, Setup
from glassformer.experiments.search.result import SearchResult
from glassformer.experiments.search.rows import FOLDS
from glassformer.experiments.search.trial import Job, TrialRun
from glassformer.experiments.search.words import described, notes_on, verdict_on
from glassformer.readers.counting.fitting import fit_counting
from glassformer.targets.labels.experiments import PART as LABELS
from glassformer.training.recipe import load_recipe
from tests.experiments.search.samples import OVER, SMALL, Notes, recipe, searched
from tests.training.samples import opinions, table


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SearchResult]:
    """A search with one part held out, as of a table that is not small."""
    out = tmp_path_factory.mktemp("whole") / "search"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "FEW_ROWS", 50)
        return out, searched(out)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_ROWS", 50)


def test_it_reports_and_writes_what_it_found(whole: tuple[Path, SearchResult]) -> None:
    out, found = whole
    assert read_kept(out / "search.json", SearchResult) == found
    assert found.data.unseen_rows == 24
    assert len(found.trials) == 9  # all combinations: there is time for them, and the recipe is none of them
    losses = [trial.loss for trial in found.trials]
    assert losses == sorted(losses)  # type: ignore[type-var]
    best = found.trials[0]
    assert best.number == found.best
    written = load_recipe(str(out / "recipe.toml"))
    for key, value in best.settings.items():
        section, _, name = key.partition(".")
        assert getattr(getattr(written, section), name) == value
    assert written.model.d_model == 16  # type: ignore[union-attr]
    assert [figure.key for figure in found.figures] == ["accuracy", "log_loss"]
    for figure in found.figures:
        assert figure.found.low <= figure.found.value <= figure.found.high
        assert figure.difference.value == pytest.approx(figure.found.value - figure.default.value)
    assert not list((out / "trials").glob("readers*"))
    assert not (out / "trials" / "trial").exists()


@pytest.mark.usefixtures("many")
def test_no_trial_sees_a_row_that_is_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, unseen = set[str](), set[str]()
    measures = trial.measure

    class Watching(Halving):
        def __init__(self, setup: Setup, *more: Any) -> None:
            for part in setup.parts:
                seen.update(part.learned.frame["text"], part.judged.frame["text"])
            super().__init__(setup, *more)

    def measuring(
        judge: object, candidate: object, sources: Sources, table: object, *more: object, **named: object
    ) -> object:
        seen.update(sources.train.frame["text"])
        unseen.update(table.frame["text"])  # type: ignore[attr-defined]
        return measures(judge, candidate, sources, table, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "Halving", Watching)
    monkeypatch.setattr(search, "measure", measuring)
    searched(tmp_path / "s", over=OVER[:1])
    assert len(unseen) == 24
    assert seen.isdisjoint(unseen)
    assert len(seen | unseen) == 120


@pytest.mark.usefixtures("many")
def test_resumed_is_uninterrupted(whole: tuple[Path, SearchResult], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        searched(tmp_path / "s", watcher=Notes(stop_after=13))
    assert search.is_unfinished(tmp_path / "s")
    watcher = Notes()
    found = searched(tmp_path / "s", watcher=watcher, resume=True)
    expected = whole[1]
    assert len(watcher.done) == sum(len(trial.runs) for trial in expected.trials) - 12  # and one measurement
    same = {"seconds", "trials", "created", "machine"}
    assert found.model_dump(exclude=same) == expected.model_dump(exclude=same)
    assert [(trial.name, trial.loss) for trial in found.trials] == [
        (trial.name, trial.loss) for trial in expected.trials
    ]


def test_few_rows_are_measured_part_by_part(tmp_path: Path) -> None:
    found = searched(tmp_path / "s", over=OVER[:1])
    assert (found.data.folds, found.data.unseen_rows, len(found.choices)) == (4, 120, 4)
    assert sum(choice.unseen_rows for choice in found.choices) == 120
    assert "the search was repeated without each of 4 parts" in found.notes[0]
    assert "What the search chose without each part" in search_page(found) or found.best == 0


@pytest.mark.usefixtures("many")
def test_the_counting_reader_of_a_part_is_fitted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def counting(*arguments: object, **named: object) -> object:
        fits.append(arguments[0])
        for fitted in (tmp_path / "s" / "trials").glob("readers-*"):
            if not (fitted / "link").is_symlink():
                (fitted / "link").symlink_to("nowhere")  # what it leads to, such as /dev/zero, is not copied
        return fit_counting(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("glassformer.targets.labels.training_readers.fit_counting", counting)
    base = load_recipe(None, overrides=SMALL | {"model.counting": "nb", "validation.min_rows": 60})
    found = search.search(
        Sources(train=opinions(120)), base, tmp_path / "s", minutes=20, over=OVER[:1], watcher=Notes()
    )
    of_trials = len(fits) - (2 if found.best else 1)
    assert of_trials == 3  # parts


@pytest.mark.usefixtures("many")
def test_a_part_whose_labels_are_several_per_text(tmp_path: Path) -> None:
    plain = opinions(120).frame
    several = table(
        plain["text"].to_list(),
        [[label, "even"] if row % 4 == 0 else [label] for row, label in enumerate(plain["label"])],
    )
    found = search.search(Sources(train=several), recipe(), tmp_path / "s", minutes=20, over=OVER[:1], watcher=Notes())
    assert 0 <= found.figures[0].found.value <= 1
    assert all(trial.loss is not None for trial in found.trials)


@pytest.mark.usefixtures("many")
def test_a_trial_that_cannot_be_trained_is_listed_with_its_reason(tmp_path: Path) -> None:
    few = recipe(**{"tokenizer.vocab_size": 10})
    sources, over = Sources(train=opinions(120)), ("tokenizer.kind=word,wordpiece",)
    found = search.search(sources, few, tmp_path / "s", minutes=20, over=over, watcher=Notes())
    failed = [trial for trial in found.trials if trial.failed]
    assert [trial.settings for trial in failed] == [{"tokenizer.kind": "wordpiece"}]
    assert "tokenizer.vocab_size = 10 is too small" in str(failed[0].failed)
    assert "1 trial could not be trained; the list of trials says why" in found.notes
    assert "tokenizer.vocab_size = 10 is too small" in search_page(found)


def test_the_page_shows_everything_and_runs_nothing_of_the_user(whole: tuple[Path, SearchResult]) -> None:
    out, found = whole
    html = (out / "search.html").read_text(encoding="utf-8")
    assert all(each.name in html for each in found.trials)
    assert "What mattered" in html
    assert found.verdict in html
    evil = found.model_copy(update={"verdict": "<script>alert(1)</script>", "recipe": "<b>", "best": 1})
    assert "<script>alert" not in search_page(evil)
    assert "<pre>&lt;b&gt;</pre>" in search_page(evil)
    none = found.model_copy(update={"effects": ()})
    assert "There are too few trials to say" in search_page(none)


VERDICTS: dict[str, tuple[dict[str, float], dict[str, float], str, str]] = {
    "better": ({"value": 0.02, "low": 0.01, "high": 0.03}, {"value": -0.1, "low": -0.2, "high": -0.05}, "found",
               "The best settings answer better than the recipe as it is on 24 rows"),
    "worse": ({"value": -0.02, "low": -0.03, "high": -0.01}, {"value": 0.1, "low": 0.05, "high": 0.2}, "default",
              "They seemed better by chance; keep the recipe as it is."),
    "unclear": ({"value": 0.01, "low": -0.01, "high": 0.03}, {"value": -0.1, "low": -0.2, "high": 0.05}, "default",
                "are not clearly better than the recipe as it is"),
    "same": ({"value": 0, "low": 0, "high": 0}, {"value": 0, "low": 0, "high": 0}, "default",
             "give the same answers as the recipe as it is to 24 rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_says_what_to_train_with(name: str, whole: tuple[Path, SearchResult]) -> None:
    accuracy, loss, recommended, words = VERDICTS[name]
    choice = whole[1].choices[0].model_copy(update={"settings": {"model.dropout": 0.1}})
    figures = tuple(
        figure.model_copy(update={"difference": Estimate(**difference)})
        for figure, difference in zip(whole[1].figures, (accuracy, loss), strict=True)
    )
    changes = {
        "figures": figures,
        "recommended": recommended, "best": 1, "choices": (choice,),
    }  # fmt: skip
    found = whole[1].model_copy(update=changes)
    assert words in verdict_on(found)
    assert described(found).startswith("The best settings") == (recommended == "found")


def test_the_longest_step_is_named_if_the_search_was_late(whole: tuple[Path, SearchResult]) -> None:
    late = whole[1].model_copy(update={"minutes": 3.0, "seconds": 234.0})
    steps = [(20.0, "a trial"), (50.0, "a training on all rows")]
    expected = (
        "the search took 3.9 minutes in place of 3 minutes; the longest step was a training on all rows (50 seconds)"
    )
    assert notes_on(late, [], steps)[0] == expected
    assert not any("in place of" in note for note in whole[1].notes)


def test_if_nothing_was_better_the_verdict_says_so(whole: tuple[Path, SearchResult]) -> None:
    choice = whole[1].choices[0].model_copy(update={"settings": {}})
    said = verdict_on(whole[1].model_copy(update={"best": 0, "choices": (choice,)}))
    assert said.startswith("No trial was better than the recipe as it is: keep it. Its accuracy on 24 rows")
    assert described(whole[1].model_copy(update={"best": 0})).startswith("The recipe as it is: no trial of ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"minutes": 0}, "`minutes=0`: give a number of minutes above 0 and at most 1,000,000, such as 60"),
        ({"minutes": "ten"}, "`minutes='ten'`"),
        ({"minutes": 0.001}, "`minutes=0.001` is too short"),
        ({"resume": True}, "holds no unfinished search"),
        ({"resume": True, "overwrite": True}, "contradict each other"),
        ({"rows": 40}, "a search needs at least 60"),
        ({"given": {"model.dropout"}}, "model.dropout is both set and searched"),
    ],
)
@pytest.mark.usefixtures("many")
def test_misuse_leaves_nothing_behind(given: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        searched(tmp_path / "s", **given)  # type: ignore[arg-type]
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.usefixtures("many")
def test_a_folder_that_is_taken(whole: tuple[Path, SearchResult], tmp_path: Path) -> None:
    def refused(words: str, folder: Path, **more: object) -> None:
        with pytest.raises(UsageError, match=re.escape(words)):
            searched(folder, over=OVER[:1], **more)  # type: ignore[arg-type]

    refused("holds a finished search", whole[0])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear reader")
    refused("is a folder with other files in it", tmp_path / "mine")
    refused("is a folder with other files in it", tmp_path / "mine", overwrite=True)
    refused("is a file", tmp_path / "mine" / "letter.txt")
    with pytest.raises(KeyboardInterrupt):
        searched(tmp_path / "s", over=OVER[:1], watcher=Notes(stop_after=3))
    refused("holds an unfinished search", tmp_path / "s")
    refused("the unfinished search has other minutes", tmp_path / "s", resume=True, minutes=30)
    refused("the unfinished search has other rows", tmp_path / "s", resume=True, rows=100)
    assert searched(tmp_path / "s", over=OVER[:1], overwrite=True).trials


def test_a_trial_is_decided_by_its_recipe_rows_share_and_seed(tmp_path: Path) -> None:
    part = rows.inner_parts(opinions(120), None, LABELS, seed=0)[0]
    base = Job(candidate=0, recipe=recipe(), part=part, number=0, share=1.0, device="cpu", judge=LABELS)
    others: list[Callable[[], Job]] = [
        lambda: dataclasses.replace(base, share=0.5),
        lambda: dataclasses.replace(base, recipe=recipe(**{"model.dropout": 0.25})),
        lambda: dataclasses.replace(base, part=dataclasses.replace(part, seed=9)),
        lambda: dataclasses.replace(base, part=dataclasses.replace(part, learned=part.judged)),
    ]
    files = {base.file(tmp_path), *(each().file(tmp_path) for each in others)}
    assert len(files) == 5
    assert dataclasses.replace(base, candidate=7).file(tmp_path) == base.file(tmp_path)


@pytest.mark.parametrize(("body", "trainings"), [("none", 1), ("english", 1 + FOLDS)])
def test_the_last_training_takes_longer_if_it_is_cross_fitted(body: str, trainings: int) -> None:
    small = SMALL | {"model.counting": "none", "model.body": body, "validation.min_rows": 100}
    learned = (FOLDS - 1) / FOLDS
    assert search._final(load_recipe(None, overrides=small), Sources(train=opinions(60))) == pytest.approx(
        trainings - 1 + 1 / learned
    )


def test_a_kept_trial_of_no_steps_is_damaged(tmp_path: Path) -> None:
    run = TrialRun(candidate=0, part=0, share=1, loss=1, own_loss=1, figure=1, parameters=1, seconds=1)
    (tmp_path / "run.json").write_text(json.dumps(run.model_dump() | {"share": 0}))
    with pytest.raises(GlassformerError, match="is damaged"):
        read_kept(tmp_path / "run.json", TrialRun)
