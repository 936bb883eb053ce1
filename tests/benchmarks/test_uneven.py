import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from benchmarks import other_class, uneven
from benchmarks.bench_data import hold_out_fifth
from benchmarks.experiment import Experiment
from benchmarks.tables_uneven import other_tables, uneven_tables
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import Recipe
from glassformer.training.training_config import TrainingConfig
from tests.data.samples import table_of

TRUTH = np.array([0, 1, 2, 0, 1, 1, 0, 0, 0, 2])
GIVEN = np.array([[0, 1, 2, 0, 0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 1, 1, 0, 2, 0, 2]])


def made(counts: dict[str, int], prefix: str = "") -> Table:
    """Rows that say their label."""
    labels = [label for label, count in counts.items() for _ in range(count)]
    return table_of(labels, [f"{prefix}{label} said by guest {number}" for number, label in enumerate(labels)])


def test_macro_f1_is_that_of_scikit_learn_as_the_mean_of_the_seeds() -> None:
    expected = np.mean([f1_score(TRUTH, given, average="macro") for given in GIVEN])
    found = uneven.macro_f1(TRUTH, GIVEN)
    assert found["value"] == pytest.approx(expected)
    assert found["low"] < expected < found["high"]
    gain = uneven.macro_f1(TRUTH, GIVEN, np.stack([TRUTH, TRUTH]))
    assert gain["value"] == pytest.approx(expected - 1)
    assert uneven.macro_f1(TRUTH, GIVEN, GIVEN) == {"value": 0, "low": 0, "high": 0}


class Answering:
    """A model that answers by the settings that it was trained with. Its transformer alone says `often`."""

    def __init__(self, training: TrainingConfig) -> None:
        self.rare = float(training.resample == "balanced" or training.loss == "focal")
        self.trained = SimpleNamespace(
            config=SimpleNamespace(label_set=LabelSet(names=("often", "rare")), transformer_is_silent=self.rare)
        )

    def alone(self, reader: str, texts: list[str]) -> Any:
        assert reader == "transformer"
        return np.tile([1.0, 0.0], (len(texts), 1))

    def logits(self, texts: list[str]) -> Any:
        return np.array([[0.5, self.rare * text.startswith("rare")] for text in texts])


def test_each_way_to_train_is_measured_by_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models: list[Answering] = []
    learned: list[tuple[str, str]] = []

    def kept(_experiment: object, _name: str, recipe: Recipe, train: Table, held_out: Table) -> Path:
        learned.append((fingerprint(train), fingerprint(held_out)))
        assert not set(train.frame["text"]) & set(held_out.frame["text"])
        models.append(Answering(recipe.training))
        return tmp_path

    monkeypatch.setattr(uneven, "ROWS", {"made": 60})
    monkeypatch.setattr(uneven, "read_rows", lambda *_: made({"often": 80, "rare": 20}))
    monkeypatch.setattr(uneven, "classifier", kept)
    monkeypatch.setattr(Predictor, "load", lambda _: models[-1])
    table = uneven.measured(Experiment(work=tmp_path, quick=False, commit=""), "made", 60)
    assert len(models) == len(uneven.SEEDS) * len(uneven.WAYS)
    assert len({train for train, _ in learned}) == len(uneven.SEEDS)
    assert {held_out for _, held_out in learned} == {table["held_out_sha256"]}
    assert table["shares"] == {"often": 0.8, "rare": 0.2}
    right = dict(zip(uneven.WAYS, (0.8, 1, 0.8, 1), strict=True))
    assert [(line["readers"], line["way"]) for line in table["lines"]] == list(
        itertools.product((uneven.ALONE, uneven.ALL), right)
    )
    for line in table["lines"]:
        expected = right[line["way"]] if line["readers"] == uneven.ALL else 0.8
        assert line["accuracy"]["value"] == pytest.approx(expected)
        assert line["accuracy_gain"]["value"] == pytest.approx(expected - 0.8)
        assert line["macro_f1"]["value"] == pytest.approx(1 if expected == 1 else 4 / 9)
        assert line["macro_f1_gain"]["value"] == pytest.approx(5 / 9 if expected == 1 else 0)
    assert table["transformer_asked"] == dict(zip(uneven.WAYS, (2, 0, 2, 0), strict=True))
    text, below = uneven_tables({"tables": [table], "seeds": uneven.SEEDS})
    assert "| `made`, all readers | focal loss | 1.000" in text
    assert text.splitlines()[2].endswith("] |  |  |")  # cross entropy gains nothing over itself
    assert "60 rows learned, 20 held out, 20% of them rare; the transformer answers in 4 of 8 models." in below


class Knowing:
    """A model that is sure of the labels it knows, and says `other` to the rest, if it knows that."""

    def __init__(self, train: Table) -> None:
        self.names = sorted(train.frame["label"].unique())
        self.trained = SimpleNamespace(config=SimpleNamespace(label_set=LabelSet(names=tuple(self.names))), seen=self)

    def unseen_shares(self, texts: list[str]) -> Any:
        return np.array([text.split()[0] not in self.names for text in texts], float)

    def answer(self, texts: list[str]) -> Any:
        probs = np.full((len(texts), len(self.names)), 0.01)
        for row, text in enumerate(texts):
            name = text.split()[0] if text.split()[0] in self.names else "other"
            if name in self.names:
                probs[row, self.names.index(name)] = 0.3 if name == "other" else 0.9
        return SimpleNamespace(probs=probs)


def test_the_intents_of_other_are_neither_known_nor_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[Table] = []

    def kept(_experiment: object, _name: str, recipe: Recipe, train: Table, _asked: Table) -> Path:
        assert recipe.training.without_transformer
        learned.append(train)
        return tmp_path

    intents = {f"intent{number}": 60 for number in range(8)}
    rows = {"clinc150": made(intents), "trec": made({"x": 90, "y": 90}), "disaster-tweets": made({"z": 90, "w": 90})}
    monkeypatch.setattr(other_class, "INTENTS", {"known": 4, "other": 2, "unseen": 2})
    monkeypatch.setattr(other_class, "ROWS", 80)
    monkeypatch.setattr(other_class, "read_rows", lambda data, _: rows[data])
    monkeypatch.setattr(other_class, "classifier", kept)
    monkeypatch.setattr(Predictor, "load", lambda _: Knowing(learned[-1]))
    train, held_out = hold_out_fifth(rows["clinc150"], 0)
    run = other_class.measured(Experiment(work=tmp_path, quick=False, commit=""), train, held_out, 0)
    plain, of_intents, elsewhere = ([text.split()[0] for text in table.frame["text"]] for table in learned)
    assert len(set(plain)) == 4
    assert len(set(of_intents)) == 6 == len(set(of_intents) | set(plain))
    assert set(elsewhere) - set(plain) == {"x", "y", "z", "w"}
    assert [each["rows_of_other"] for each in run["models"].values()] == [0, 20, 40]
    assert run["asked"] == {"known": 48, "unseen": 24}
    for name, each in run["models"].items():
        assert each["accuracy"] == 1
        assert each["auroc"] == {"confidence": 1, "unseen_words": 1, "other": 0.5 if name == "plain" else 1}
    found = {
        "runs": [run],
        "seeds": (0,),
        "intents": other_class.INTENTS,
        "elsewhere": other_class.ELSEWHERE,
        "data": "made",
    }
    text, below = other_tables(found)
    assert "| `other` of 2 intents | probability of `other` | 1.000 | 1.000 |" in text
    assert "24 rows of 2 unseen intents against 48 of 4 known ones" in below
