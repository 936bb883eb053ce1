import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig, fingerprint
from glassformer.data.table import Dropped, Table
from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.record import Estimate
from glassformer.experiments.keeper import PACKAGE, source_digest
from glassformer.experiments.variants import comparison as module
from glassformer.experiments.variants.comparison import (
    RESULTS_FILE,
    RUNS_FOLDER,
    compare_variants,
    prepare_folder,
)
from glassformer.experiments.variants.comparison_result import VariantComparison
from glassformer.experiments.variants.notes import notes_on
from glassformer.experiments.variants.plan import cut_rows, plan_variants
from glassformer.experiments.variants.variant_run import seconds_per_step
from glassformer.experiments.watching import run_file
from glassformer.targets.labels.experiments import PART as LABELS
from glassformer.training.run import train_model
from tests.experiments.variants.samples import SMALL, Notes, compared, plan
from tests.support import whole_cross_fitting
from tests.training.samples import opinions, table


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[VariantComparison, Path, Notes]:
    """Two keys of two values, two seeds."""
    out, notes = tmp_path_factory.mktemp("found") / "variants", Notes()
    return compared(out, watcher=notes), out, notes


def test_every_variant_with_every_seed(found: tuple[VariantComparison, Path, Notes]) -> None:
    comparison, out, notes = found
    names = [
        "norm=rms · pooling=mean",
        "norm=rms · pooling=max",
        "norm=layer · pooling=mean",
        "norm=layer · pooling=max",
    ]
    expected = [(name, seed) for seed in (0, 1) for name in names]
    assert notes.begun == [f"{name}, seed {seed}" for name, seed in expected]
    assert [(run.variant, run.seed, run.steps) for run in comparison.runs] == [(*each, 4) for each in expected]
    assert len(list((out / RUNS_FOLDER).iterdir())) == 8
    runs, done, seconds = notes.plans[0]
    assert (runs, done) == (8, 0)
    assert seconds is not None
    assert 0 < seconds < 60
    assert max(notes.shares) == 1


def test_the_table_is_that_of_the_runs(found: tuple[VariantComparison, Path, Notes]) -> None:
    comparison, _, notes = found
    for variant in comparison.variants:
        runs = [run for run in notes.done if run.variant == variant.name]
        accuracies = [run.mean for run in runs]
        assert variant.mean.value == pytest.approx(statistics.mean(accuracies))
        assert variant.spread == pytest.approx(statistics.stdev(accuracies))
        assert variant.seconds == pytest.approx(statistics.mean(run.seconds for run in runs))
        assert variant.parameters == runs[0].parameters
        assert all(run.rows == 12 and run.validation_rows == 5 and run.training_rows == 43 for run in runs)
        assert all(run.tokens_per_second > 100 for run in runs)
        assert all(np.mean(run.values) == pytest.approx(run.mean) for run in runs)
    means = [variant.mean.value for variant in comparison.variants]
    assert means == sorted(means, reverse=True)
    assert [variant.behind_best is None for variant in comparison.variants] == [True, False, False, False]
    assert comparison.best == comparison.variants[0].name
    by_name = {variant.name: variant.mean.value for variant in comparison.variants}
    norm, pooling = comparison.keys
    assert [value.mean.value for value in norm.values] == pytest.approx(
        [
            (by_name[f"norm={norm} · pooling=mean"] + by_name[f"norm={norm} · pooling=max"]) / 2
            for norm in ("rms", "layer")
        ]
    )
    assert pooling.values[0].effect.value == pytest.approx(-pooling.values[1].effect.value)


def test_the_variance_is_widened_by_rows_measured_over_rows_trained_on(
    found: tuple[VariantComparison, Path, Notes],
) -> None:
    """Nadeau & Bengio 2003: s²(1/n + n2/n1). Validation rows choose the epoch, so n1 is 43 of the 48 other rows."""
    _, _, notes = found
    cuts = [cut_rows(LABELS, Sources(train=opinions()), seed, ValidationConfig(), None) for seed in (0, 1)]
    right = ("111111111100", "111111000000", "111111111111", "111111110000")  # rms, layer; the second seed's below
    runs = [
        run.model_copy(update={"values": tuple(map(float, bits))})
        for run, bits in zip(notes.done[:2] + notes.done[4:6], right, strict=True)
    ]
    one_key = plan("norm=rms,layer")
    named = [run.model_copy(update={"variant": one_key.variants[i % 2].name}) for i, run in enumerate(runs)]
    (key,) = module.comparison_of(one_key, named, opinions(), cuts, same_rows=False, device="cpu").keys
    mean = 4 / 12  # 10 less 6, 12 less 8
    of_rows = 4 / 12 * 8 / 12 / 11  # the variance of a mean of 12 rows, 4 of which differ: both seeds agree by chance
    error = math.sqrt(of_rows * (1 / 2 + 12 / 43))
    assert key.differences[0].p == pytest.approx(2 * stats.t.sf(mean / error, df=1))


def test_what_is_written_reads_back(found: tuple[VariantComparison, Path, Notes]) -> None:
    comparison, out, _ = found
    assert VariantComparison.model_validate_json((out / RESULTS_FILE).read_text()) == comparison
    assert comparison.data.sha256 == fingerprint(opinions())
    assert comparison.varied == {"norm": ["rms", "layer"], "pooling": ["mean", "max"]}
    assert comparison.seeds == (0, 1)
    assert comparison.versions["digest of the code"] == source_digest(PACKAGE)[:12]  # tells apart two checkouts
    assert comparison.budget == "4 steps"
    assert "each seed measures on its own rows" in comparison.covers
    assert any(note.startswith("2 seeds show only large differences") for note in comparison.notes)
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "results.json", "runs"]


def test_a_run_is_the_training_of_its_recipe_on_the_other_rows(found: tuple[VariantComparison, Path, Notes]) -> None:
    _, out, notes = found
    variant = plan().variants[2]
    cut = cut_rows(LABELS, Sources(train=opinions()), 1, ValidationConfig(), None)
    seeded = variant.recipe.model_copy(update={"training": variant.recipe.training.model_copy(update={"seed": 1})})
    trained = train_model(cut.sources, seeded)
    kept = json.loads(run_file(out / RUNS_FOLDER, LABELS, seeded, "cpu", cut.identity).read_text())
    assert kept["variant"] == "norm=layer · pooling=mean"
    assert kept["best_epoch"] == trained.metrics["best_epoch"]
    assert kept["mean"] == notes.done[6].mean


def test_stopped_and_gone_on_is_uninterrupted(
    found: tuple[VariantComparison, Path, Notes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        compared(tmp_path, watcher=Notes(stop_after=3))
    assert not (tmp_path / RESULTS_FILE).exists()
    rest = Notes()
    again = compared(tmp_path, watcher=rest)
    assert rest.plans[0][:2] == (8, 3)
    assert len(rest.done) == 5
    assert [run.mean for run in again.runs] == [run.mean for run in found[0].runs]
    assert again.keys == found[0].keys

    monkeypatch.setattr(module, "run_variant", lambda *_, **__: pytest.fail("trained again"))
    nothing = Notes()
    assert compared(tmp_path, watcher=nothing).keys == again.keys
    assert nothing.plans == [(8, 8, 0.0)]


def test_more_values_and_seeds_reuse_what_is_there(tmp_path: Path) -> None:
    compared(tmp_path, of=plan("norm=rms,layer"))
    notes = Notes()
    found = compared(tmp_path, of=plan("norm=rms,none", "positions=rotary,none", seeds=3), watcher=notes)
    assert notes.plans[0][:2] == (12, 2)
    assert {run.variant for run in found.runs if run.variant.startswith("norm=rms")} == {
        "norm=rms · positions=rotary",
        "norm=rms · positions=none",
    }


def test_a_table_of_its_own_to_measure_on(tmp_path: Path) -> None:
    test = opinions(26, source="test.csv", first=900)
    found = compared(tmp_path, of=plan("norm=rms,layer"), test=test)
    assert {run.rows for run in found.runs} == {26}
    assert found.data.measured_sha256 == fingerprint(test)
    assert found.data.measured_on == "test.csv, the same rows for all"
    assert "two crossed factors" in found.covers


def test_a_run_that_diverges_counts_as_the_most_frequent_answer(tmp_path: Path) -> None:
    rows = opinions(60)
    lopsided = table(rows.frame["text"].to_list(), ["good"] * 40 + rows.frame["label"].to_list()[40:])
    settings = {key: value for key, value in SMALL.items() if key != "training.learning_rate"}
    settings["training.weight_decay"] = 1  # multiplies the weights by −999 in each step at the higher rate
    variants = plan_variants(["training.learning_rate=0.01,1000"], overrides=settings, seeds=2, steps=20)
    found = compare_variants(variants, Sources(train=lopsided), tmp_path, watcher=Notes())
    diverged = [run for run in found.runs if run.diverged]
    assert {run.variant for run in diverged} == {"training.learning_rate=1000"}
    assert len(diverged) == 2
    assert all(run.mean == 10 / 12 for run in diverged)
    assert next(variant.diverged for variant in found.variants if variant.name == "training.learning_rate=1000") == 2
    assert any(note.startswith("2 of 4 runs diverged; each counts as") for note in found.notes)
    assert any(note.startswith("1 of 3 runs diverged; it counts as") for note in notes_on(
        variants, [run for run in found.runs if run is not diverged[0]], lopsided, LABELS, same_rows=False
    ))  # fmt: skip


def test_without_validation_rows_it_says_so_and_why(tmp_path: Path) -> None:
    found = compared(tmp_path, of=plan("norm=rms,layer", fraction=0))
    assert (
        "No rows were held out for validation, because validation.fraction is 0. Such a run keeps its last weights."
        in (found.notes)
    )
    assert "Each run learned from 48 rows." in found.notes
    variants = plan_variants(["norm=rms,layer"], overrides=SMALL | {"validation.min_rows": 49}, seeds=2, steps=2)
    found = compare_variants(variants, Sources(train=opinions(60)), tmp_path, watcher=Notes())
    few = (
        "No rows were held out for validation, because fewer than validation.min_rows=49 rows were left to learn from."
    )
    assert any(note.startswith(few) for note in found.notes)


@pytest.mark.parametrize("values", ["counting=tfidf,none", "body=english,none"])
def test_runs_that_train_several_times_are_said(values: str, tmp_path: Path) -> None:
    settings = {key: value for key, value in SMALL.items() if key != "validation.min_rows"}
    variants = plan_variants([values], overrides=settings, seeds=2, steps=2)
    with whole_cross_fitting():
        found = compare_variants(variants, Sources(train=opinions(60)), tmp_path, watcher=Notes())
    assert [run.steps for run in found.runs] == [10, 2] * 2
    assert any(note.startswith("In 2 of 4 runs, the readers were cross-fitted: ") for note in found.notes)


def test_settings_that_make_one_model_are_said_and_not_averaged(tmp_path: Path) -> None:
    found = compared(tmp_path, of=plan("counting=none,tfidf", "body=none,auto"))
    pair = (
        "counting=none · body=none and counting=none · body=auto are one model, so this pair shows nothing about body."
    )
    assert [note for note in found.notes if "body=" in note] == [pair]
    mean = {variant.name: variant.mean.value for variant in found.variants}
    assert [value.mean.value for value in found.keys[1].values] == [
        mean["counting=tfidf · body=none"], mean["counting=tfidf · body=auto"]
    ]  # fmt: skip


def test_models_that_answer_alike_are_said_and_averaged(tmp_path: Path) -> None:
    """Beside counting, held-out rows silence a transformer that learned nothing."""
    with whole_cross_fitting():
        found = compared(tmp_path, of=plan("counting=none,tfidf", "dropout=0,0.9"))
    pair = "counting=tfidf · dropout=0 and counting=tfidf · dropout=0.9 gave the same answers in all runs"
    assert [note for note in found.notes if "answers" in note] == [f"{pair}, so this pair shows no effect of dropout."]
    mean = {variant.name: variant.mean.value for variant in found.variants}
    assert mean["counting=none · dropout=0"] < mean["counting=tfidf · dropout=0"]
    assert [value.mean.value for value in found.keys[1].values] == pytest.approx(
        [
            (mean[f"counting=none · dropout={dropout}"] + mean[f"counting=tfidf · dropout={dropout}"]) / 2
            for dropout in ("0", "0.9")
        ]
    )


@pytest.mark.parametrize("test", [None, opinions(26, source="test.csv")])
def test_rows_that_a_run_did_not_learn_from_are_said(test: Table | None, tmp_path: Path) -> None:
    rows = opinions(60).frame
    twice = table([*rows["text"], *rows["text"][:20]], [*rows["label"], *rows["label"][:20]])
    found = compare_variants(plan("norm=rms,layer"), Sources(train=twice), tmp_path, test=test, watcher=Notes())
    learned, left_out = found.notes[:2]
    trained = sorted({run.training_rows for run in found.runs})
    first, last = trained[0], trained[-1]
    assert learned.startswith(f"Each run learned from {first if first == last else f'{first} to {last}'} rows; ")
    gone = sorted(80 - run.training_rows - run.validation_rows - (0 if test else run.rows) for run in found.runs)
    assert gone[0] > 0
    span = str(gone[0]) if gone[0] == gone[-1] else f"{gone[0]} to {gone[-1]}"
    assert left_out.startswith(
        f"Each run left out {span} rows of the table, because their texts are also among the measured"
    )


def test_one_row_left_out_is_one_row(tmp_path: Path) -> None:
    rows = opinions(60)
    with_gap = replace(rows, dropped=(Dropped(reason="empty text", rows=[61]),))
    of = plan("norm=rms,layer")
    found = compare_variants(of, Sources(train=with_gap), tmp_path, watcher=Notes())
    assert found.notes[0] == "1 row left out: empty text"
    runs = [run.model_copy(update={"rows": 12, "training_rows": 46, "validation_rows": 1}) for run in found.runs]
    assert notes_on(of, runs, rows, LABELS, same_rows=False)[:2] == (
        "Each run learned from 46 rows; its epoch was chosen by 1 validation row.",
        "Each run left out 1 row of the table, because its text is also among the measured or the validation rows.",
    )


def test_variants_with_the_same_mean_share_it(found: tuple[VariantComparison, Path, Notes]) -> None:
    runs, cuts = (
        list(found[0].runs),
        [cut_rows(LABELS, Sources(train=opinions()), seed, ValidationConfig(), None) for seed in (0, 1)],
    )

    def compared_by(*right: str) -> VariantComparison:
        """Of variants that answer the first seed's rows and the second's as each string says."""
        values = [tuple(map(float, answers)) for answers in right]
        changed = [
            run.model_copy(update={"values": values[i % 4], "mean": sum(values[i % 4]) / 12})
            for i, run in enumerate(runs)
        ]
        return module.comparison_of(plan(), changed, opinions(), cuts, same_rows=False, device="cpu")

    def verdict(*right: str) -> str:
        return compared_by(*right).verdict

    seven, six = "110110110001", "100000111110"
    assert verdict(seven, seven, seven, seven) == "All 4 variants have the same mean, .583."
    assert verdict(six, seven, six, seven) == (
        "norm=rms · pooling=max and norm=layer · pooling=max share the highest mean, .583; "
        "none of the other 2 is worse beyond noise."
    )
    assert verdict(six, seven, six, six).startswith(
        "norm=rms · pooling=max has the highest mean, .583, but these runs show no clear"
    )
    assert verdict(six, six, six, six) == (
        "No variant is more accurate than a model that always gave the most frequent label, .500, so these runs "
        "compare nothing. More than 4 steps may teach them something."
    )
    assert all(key.verdict for key in compared_by(six, seven, six, seven).keys)
    assert not any(key.verdict for key in compared_by(six, six, six, six).keys)
    worst = found[0].variants[-1].behind_best
    assert worst is not None
    last = found[0].variants[-1].model_copy(update={"behind_best": worst.model_copy(update={"beyond_noise": True})})
    apart = [variant.model_copy(update={"mean": Estimate(value=value, low=0, high=1)}) for variant, value in zip(
        (*found[0].variants[:-1], last), (0.7, 0.5, 0.4, 0.3), strict=True
    )]  # fmt: skip
    for variant in apart[1:-1]:
        assert variant.behind_best is not None
        assert not variant.behind_best.beyond_noise
    assert module._verdict(tuple(apart), apart[0].name, "more accurate").endswith(
        "; 1 of the other 3 is worse beyond noise, 2 not clearly."
    )


def test_the_name_of_a_run_is_all_that_decides_it(tmp_path: Path) -> None:
    variant, other = plan().variants[:2]
    cuts = [cut_rows(LABELS, Sources(train=opinions()), seed, ValidationConfig(), None) for seed in (0, 1)]
    named = run_file(tmp_path, LABELS, variant.recipe, "cpu", cuts[0].identity)
    described = variant.recipe.model_copy(update={"description": "something else"})
    assert named == run_file(tmp_path, LABELS, described, "cpu", cuts[0].identity)
    others = {
        run_file(tmp_path, LABELS, other.recipe, "cpu", cuts[0].identity),
        run_file(tmp_path, LABELS, variant.recipe, "cpu", cuts[1].identity),
        run_file(tmp_path, LABELS, variant.recipe, "cuda", cuts[0].identity),
    }
    assert len(others | {named}) == 4
    body = tmp_path / "body"
    body.mkdir()
    model = variant.recipe.model.model_copy(update={"body": str(body)})
    of_body = variant.recipe.model_copy(update={"model": model})
    digests = set()
    for words in ("a", "b"):
        (body / "words.txt").write_text(words)
        digests.add(run_file(tmp_path, LABELS, of_body, "cpu", cuts[0].identity))
    assert len(digests) == 2


def test_the_rows_of_a_seed_are_read_once_for_all_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Table] = []

    def reading(rows: Table) -> str:
        read.append(rows)
        return "rows"

    monkeypatch.setattr("glassformer.experiments.variants.plan.fingerprint", reading)
    cut = cut_rows(LABELS, Sources(train=opinions()), 0, ValidationConfig(), None)
    for variant in plan().variants:
        run_file(tmp_path, LABELS, variant.recipe, "cpu", cut.identity)
    assert read == [cut.sources.train, cut.measured]


def test_a_damaged_run_is_one_sentence(tmp_path: Path) -> None:
    compared(tmp_path, of=plan("norm=rms,layer"))
    file = sorted((tmp_path / RUNS_FOLDER).iterdir())[0]
    file.write_text(file.read_text()[:40])
    with pytest.raises(GlassformerError, match=rf"{file.name} is damaged; remove it"):
        compared(tmp_path, of=plan("norm=rms,layer"))


def test_too_many_runs_are_counted_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RUNS", 7)
    for work in ("check_buildable", "seconds_per_step", "run_variant"):
        monkeypatch.setattr(module, work, lambda *_, **__: pytest.fail("work on models"))
    with pytest.raises(UsageError, match=r"4 variants with 2 seeds need 8 runs, but a comparison may have at most 7"):
        compared(tmp_path)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="other files in it"):
        prepare_folder(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        prepare_folder(tmp_path / "thesis.tex")


def test_the_time_of_a_step_is_not_known_where_some_rows_make_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    variant = plan().variants[0]
    cut = cut_rows(LABELS, Sources(train=opinions()), 0, ValidationConfig(), None)
    step = seconds_per_step(variant.recipe, cut, "cpu")
    assert step is not None
    assert 0 < step < 5
    monkeypatch.setattr("glassformer.experiments.variants.variant_run._TIMED_ROWS", 1)
    assert seconds_per_step(variant.recipe, cut, "cpu") is None
