from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig, fingerprint
from glassformer.data.table import Table, text_keys
from glassformer.errors import UsageError
from glassformer.experiments.variants.plan import Plan, check_buildable, cut_rows, plan_variants, value_name
from glassformer.targets.labels.experiments import PART as LABELS
from tests.training.samples import opinions, table


def plan(*vary: str, overrides: dict[str, Any] | None = None, seeds: int = 2, **more: Any) -> Plan:
    return plan_variants(vary, overrides=overrides or {}, seeds=seeds, **more)


def test_every_combination_the_last_key_fastest() -> None:
    found = plan("positions=none,rotary", "training.optimizer=adamw,muon", "n_layers=1,3", overrides={"model.d_ff": 48})
    assert [variant.name for variant in found.variants] == [
        "positions=none · training.optimizer=adamw · n_layers=1",
        "positions=none · training.optimizer=adamw · n_layers=3",
        "positions=none · training.optimizer=muon · n_layers=1",
        "positions=none · training.optimizer=muon · n_layers=3",
        "positions=rotary · training.optimizer=adamw · n_layers=1",
        "positions=rotary · training.optimizer=adamw · n_layers=3",
        "positions=rotary · training.optimizer=muon · n_layers=1",
        "positions=rotary · training.optimizer=muon · n_layers=3",
    ]
    last = found.variants[-1].recipe
    assert last.model.model_dump()["positions"] == "rotary"
    assert last.model.model_dump()["n_layers"] == 3
    assert {variant.recipe.model.model_dump()["d_ff"] for variant in found.variants} == {48}
    assert last.training.optimizer == "muon"
    assert found.seeds == (0, 1)


@pytest.mark.parametrize(
    ("vary", "names"),
    [
        ("body=none,auto", ["body=none", "body=auto"]),
        ("dropout=0.1,0.3", ["dropout=0.1", "dropout=0.3"]),
        ("pooling=mean,max", ["mean", "max"]),
    ],
)
def test_all_values_of_a_key_are_named_in_one_way(vary: str, names: list[str]) -> None:
    found = plan(vary)
    assert [variant.name for variant in found.variants] == names
    assert [value_name(key, value, values) for key, values in found.keys.items() for value in values] == names


def test_variants_with_the_same_settings_in_effect_are_one_model() -> None:
    assert plan("counting=none,tfidf", "body=none,auto").models == [0, 0, 2, 3]
    assert plan("counting=none,tfidf", "dropout=0.1,0.3").models == [0, 1, 2, 3]


def test_seeds_go_on_from_the_recipe_s_own() -> None:
    assert plan("norm=rms,layer", seeds=3, overrides={"training.seed": 7}).seeds == (7, 8, 9)
    assert plan("norm=rms,layer", seeds=3, overrides={"training.seed": 2**32 - 1}).seeds == (2**32 - 1, 0, 1)


@pytest.mark.parametrize(
    ("given", "overrides", "budget"),
    [
        ({}, {}, "1,000 steps"),
        ({"steps": 40}, {}, "40 steps"),
        ({"steps": 1}, {}, "1 step"),
        ({"seconds": 2.5}, {}, "2.5 s"),
        ({}, {"training.max_steps": 77}, "77 steps"),
        ({"seconds": 9.0}, {"training.max_steps": 77}, "9 s"),
    ],
)
def test_every_variant_has_the_same_budget(given: dict[str, Any], overrides: dict[str, Any], budget: str) -> None:
    found = plan("norm=rms,layer", overrides=overrides, **given)
    assert found.budget == budget
    training = [variant.recipe.training for variant in found.variants]
    assert len({(config.max_steps, config.max_seconds) for config in training}) == 1


@pytest.mark.parametrize(
    ("vary", "more", "message"),
    [
        (
            ["positons=learned,rotary"],
            {},
            r"`vary='positons=learned'`: unknown key model\.positons \(did you mean model\.po",
        ),
        (["optimizer=adamw,muon"], {}, r"unknown key model\.optimizer \(did you mean training\.optimizer\?\)"),
        (["norm=rms,layer", "positions=learned,rotari"], {}, r"`vary='positions=rotari'`: .*'learned', 'rotary'"),
        (["positions=learned"], {}, "at least two values"),
        (["positions=learned,"], {}, "at least two values"),
        (["positions=learned,rotary,learned"], {}, "learned is given twice"),
        (["dropout=0.5,0.50"], {}, r"0\.5 is given twice"),
        (["positions"], {}, "key=value,value"),
        (["norm=rms,layer", "model.norm=rms,none"], {}, "`vary='norm'` is given twice"),
        (["training.seed=1,2"], {}, "training.seed cannot be varied, because `seeds=`"),
        (["training.max_steps=1,2"], {}, "same budget, `steps=`"),
        (["validation.group=author,film"], {}, "every variant gets the same rows"),
        (
            ["d_model=48,64", "n_heads=3,4"],
            {},
            r"the variant d_model=64 · n_heads=3 cannot be built: .*multiple of n_heads",
        ),
        (["norm=rms,layer"], {"seeds": 1}, "`seeds=1`: .*at least two"),
        (["norm=rms,layer"], {"seeds": 10**9}, "`seeds=1000000000`: .*at most 1,000"),
        (["norm=rms,layer"], {"steps": 5, "seconds": 2.0}, "give one of them"),
        (["norm=rms,layer"], {"overrides": {"model.norm": "rms"}}, "norm is both set and varied"),
        (["preset=tiny,small"], {"preset": "base"}, "preset is both set and varied"),
        (["norm=rms,layer"], {"preset": "tall"}, "no preset 'tall'"),
    ],
)
def test_mistakes_are_one_sentence(vary: list[str], more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(*vary, **more)


def test_values_that_go_together_need_not_go_alone() -> None:
    assert len(plan("d_model=96,192", "n_heads=3,6").variants) == 4


def test_several_variants_that_cannot_be_built_are_counted() -> None:
    with pytest.raises(UsageError, match=r"d_model=64 · n_heads=5 cannot be built: .*\(4 of 9 variants cannot\)"):
        plan("d_model=60,64,70", "n_heads=2,5,10")


def texts(of: Table) -> set[str]:
    return set(text_keys(of.frame["text"]))


def test_measured_rows_are_the_seed_s_own_and_never_learned_from() -> None:
    train = opinions(61)
    doubled = table([*train.frame["text"], train.frame["text"][0]], [*train.frame["label"], train.frame["label"][0]])
    cuts = [cut_rows(LABELS, Sources(train=doubled), seed, ValidationConfig(), None) for seed in (0, 1, 0)]
    for cut in cuts:
        assert cut.measured.frame.height == 12
        assert not texts(cut.measured) & texts(cut.sources.train)
        assert sorted(cut.measured.frame["label"].value_counts()["count"]) == [6, 6]
        assert cut.sources.test is cut.measured
    prints = [fingerprint(cut.measured) for cut in cuts]
    assert prints[0] == prints[2] != prints[1]


def test_groups_are_measured_whole() -> None:
    grouped = opinions(60)
    groups = pl.Series("group", [f"author {number // 6}" for number in range(60)])
    train = Table(frame=grouped.frame.with_columns(groups), source="r.csv", text_column="review", label_column="stars")
    cut = cut_rows(LABELS, Sources(train=train), 3, ValidationConfig(group="group"), None)
    assert not set(cut.measured.frame["group"]) & set(cut.sources.train.frame["group"])


def test_the_latest_rows_are_measured_for_each_seed() -> None:
    days = pl.Series("time", [datetime(2024, 1, 1) + timedelta(days=number) for number in range(60)])
    train = opinions(60)
    train = replace(train, frame=train.frame.with_columns(days))
    for seed in (0, 1):
        cut = cut_rows(LABELS, Sources(train=train), seed, ValidationConfig(time="day"), None)
        assert cut.measured.frame["row"].to_list() == list(range(49, 61))


def test_a_table_of_its_own_is_the_same_for_all_seeds() -> None:
    test = opinions(14, source="test.csv", first=500)
    cuts = [cut_rows(LABELS, Sources(train=opinions()), seed, ValidationConfig(), test) for seed in (0, 1)]
    assert all(cut.measured is test and cut.sources.train.frame.height == 60 for cut in cuts)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (table(["a film"], ["good"], source="one.csv"), r"`test=\'one\.csv\'` has a single row"),
        (table(["a film", "b film"], ["good", "fair"], source="new.csv"), r"new\.csv.*'fair' .*not seen"),
    ],
)
def test_a_table_that_cannot_be_measured_on(test: Table, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cut_rows(LABELS, Sources(train=opinions()), 0, ValidationConfig(), test)


def test_labels_too_rare_to_hold_rows_out() -> None:
    rare = Sources(train=table([f"text {number}" for number in range(36)], list("abcdefghijkl" * 3)))
    with pytest.raises(UsageError, match=r"some label has too few rows left\. .*single row.*`test=`"):
        [cut_rows(LABELS, rare, seed, ValidationConfig(), None) for seed in range(9)]


def test_what_does_not_fit_the_vocabulary_is_refused_before_training(tmp_path: Path) -> None:
    recipe = tmp_path / "small.toml"
    recipe.write_text("[model]\npreset = 'tiny'\n[validation]\nmin_rows = 0\n")
    variants = plan("positions=none,rotary", recipe=str(recipe)).variants
    cut = cut_rows(LABELS, Sources(train=opinions()), 0, ValidationConfig(), None)
    check_buildable(variants, cut)
    one_hot = plan("embedding=learned,one-hot", recipe=str(recipe), overrides={"model.d_model": 2, "model.n_heads": 1})
    with pytest.raises(UsageError, match=r"the variant one-hot cannot be built"):
        check_buildable(one_hot.variants, cut)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("body=none,nofolder", "`vary='body=nofolder'`: there is no body nofolder;"),
        ("body=none,hf:./nofolder", r"`vary='body=hf:./nofolder'`: no such folder"),
        ('readers=[],["wordless"]', r"""`vary='readers=\["wordless"\]'`: .*wordless"""),
        ("rules=none,nofile.txt", r"`vary='rules=nofile.txt'`: No such file"),
    ],
)
def test_a_reader_that_does_not_exist_is_refused_before_training(vary: str, message: str) -> None:
    cut = cut_rows(LABELS, Sources(train=opinions()), 0, ValidationConfig(), None)
    with pytest.raises(UsageError, match=message):
        check_buildable(plan(vary).variants, cut)
