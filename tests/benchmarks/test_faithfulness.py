import numpy as np
import pytest

from benchmarks.faithfulness import figures_of
from benchmarks.polarity_reasons import reasons_of
from benchmarks.tables_faithfulness import faithfulness_tables
from glassformer.data import polarity
from glassformer.data.sources import Sources
from glassformer.prediction.predictor import Predictor
from glassformer.training.run import train_model
from tests.training.samples import opinions, recipe


def test_every_sentence_of_polarity_has_its_reasons() -> None:
    for text in polarity.generate("test").frame["text"]:
        assert reasons_of(text)


@pytest.mark.parametrize(
    ("sentence", "reasons"),
    [
        ("the plot was genuinely good, in my view", ["good"]),
        ("the pacing is anything but particularly flat, as a whole", ["anything", "but", "flat"]),
        ("the plot is very dull, all in all, but the cast is a real gem, to be honest", ["gem"]),
        ("the plot is neither very dull, all in all, nor truly sad, as a whole", ["neither", "nor", "dull"]),
    ],
)
def test_the_reasons_are_the_judgement_that_decides_and_its_denial(sentence: str, reasons: list[str]) -> None:
    assert {sentence[start:end] for start, end in reasons_of(sentence)} == set(reasons)


def test_another_sentence_has_no_reasons() -> None:
    with pytest.raises(ValueError, match="does not make 'a good plot'"):
        reasons_of("a good plot")


def test_the_figures_of_an_explanation() -> None:
    trained = train_model(Sources(train=opinions(60)), recipe(epochs=1))
    text = polarity.generate("test").frame["text"][0]
    counted: list[int] = []

    def margins(texts: object) -> np.ndarray:
        lengths = np.array([float(len(str(each))) for each in texts])  # type: ignore[attr-defined]
        counted.append(len(lengths))
        return lengths

    figures = figures_of(Predictor(trained), text, "occlusion", margins, with_reasons=True)
    assert counted
    assert 0 <= figures["score"] <= 1
    assert figures["trusted"] in (0, 1)
    assert figures["first"] in (0, 1)
    assert 0 < figures["first_by_chance"] < 1
    assert figures["seconds"] > 0


def test_the_table_ranks_the_methods() -> None:
    def estimate(value: float) -> dict[str, float]:
        return {"value": value, "low": value - 0.1, "high": value + 0.1}

    def figures(score: float) -> dict[str, dict[str, float]]:
        names = ("trusted", "comprehensiveness", "sufficiency", "error", "margin", "seconds")
        return {"score": estimate(score), **{name: estimate(0.5) for name in names}}

    data = {"data": "trec", "texts": 7, "words": 9.0, "training_rows": 1234, "accuracy": 0.9}
    found = {"data": [data | {"methods": {"rollout": figures(0.6), "occlusion": figures(0.8)}}]}
    said, table = faithfulness_tables(found)
    assert "7 held-out texts" in said
    assert [line.split("`")[1] for line in table.splitlines()[2:]] == ["occlusion", "rollout"]
    assert "| `occlusion` | .800 [.700, .900] | 50% | 0.50 | 0.50 | 100.0% | 1.0 × |" in table
