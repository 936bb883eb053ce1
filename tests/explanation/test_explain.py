import dataclasses
import json
import re
from typing import Any

import numpy as np
import pytest

from glassformer.errors import InputError, UsageError
from glassformer.explanation.explain import explain
from glassformer.explanation.explanation import Explanation
from glassformer.explanation.page import render
from glassformer.explanation.shares import signed
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.unlike import Seen, UnlikeConfig, ngram_hashes
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying
from glassformer.targets.labels.target import labels_of
from tests.explanation.test_counting import reader
from tests.prediction.keeping import keeping
from tests.prediction.samples import SMALL, small_trained_model

TEXT = "The plot is thin, but i loved it"


def two_readers(*, transformer: float = 0.7, **settings: Any) -> TrainedModel:
    trained = small_trained_model(model=SMALL.model_copy(update={"counting": "auto"}), temperature=1.5, **settings)
    weights = Readers.weighing({"counting": 0.4, "transformer": transformer})
    config = trained.config.model_copy(update={"readers": weights})
    return dataclasses.replace(
        trained, config=config, readers={"counting": reader(len(labels_of(trained.config.target).labels))}
    )


def with_rules(trained: TrainedModel, content: str) -> TrainedModel:
    """The same model with rules beside its readers."""
    readers = Readers.weighing({"rules": 1.0, **trained.config.weights})
    saying = LabelSaying(labels=labels_of(trained.config.target).names, several=False)
    ruled = RulesReader.of(content, saying, "rules.txt")
    config = trained.config.model_copy(update={"readers": readers})
    return dataclasses.replace(trained, config=config, readers={**trained.readers, "rules": ruled})


@pytest.mark.parametrize("method", ["integrated-gradients", "gradient-x-input", "occlusion"])
@pytest.mark.parametrize("transformer", [0.0, 0.7])
def test_the_parts_add_up_to_the_margin(method: Any, transformer: float) -> None:
    predictor = Predictor(two_readers(transformer=transformer))
    found = explain(predictor, TEXT, method=method)
    answer = predictor.answer([TEXT])
    (best, probability), (second, other) = answer.ranked(0)[:2]
    assert (found.label, found.rival) == (best, second)
    assert found.probability == pytest.approx(probability)
    assert found.margin == pytest.approx(np.log(probability / other), abs=1e-4)
    assert sum(word.total for word in found.words) + found.without_known_words + found.unexplained == pytest.approx(
        found.margin
    )
    assert [TEXT[word.start : word.end] for word in found.words] == [word.word for word in found.words]
    if not transformer or method == "integrated-gradients":
        assert found.unexplained == pytest.approx(0, abs=0.01 * max(1, abs(found.margin)))
    if not transformer:
        assert {word.as_json()["transformer"] for word in found.words} == {0.0}


def test_a_label_can_be_asked_about() -> None:
    predictor = Predictor(two_readers())
    first = explain(predictor, TEXT)
    other = explain(predictor, TEXT, label=first.rival)
    assert (other.label, other.rival) == (first.rival, first.label)
    assert other.margin == pytest.approx(-first.margin, abs=1e-5)


def test_without_counting_all_is_the_transformer() -> None:
    found = explain(Predictor(small_trained_model()), TEXT)
    assert found.ngrams == ()
    assert {word.as_json()["counting"] for word in found.words} == {0.0}
    assert any(word.shares["transformer"] for word in found.words)


def test_of_several_labels_one_has_no_rival() -> None:
    predictor = Predictor(small_trained_model(multilabel=True))
    found = explain(predictor, TEXT, label="fine")
    probability = predictor.answer([TEXT]).probs[0, 1]
    assert found.rival is None
    assert found.margin == pytest.approx(np.log(probability / (1 - probability)), abs=1e-4)


def test_of_several_labels_the_headline_names_the_whole_answer() -> None:
    predictor = Predictor(small_trained_model(multilabel=True))
    found = explain(predictor, TEXT, faithfulness=False)
    assert found.prediction == predictor.answer([TEXT]).named[0]
    none = about(found, prediction=[], label="bad", probability=0.0002)
    assert none.headline == "no label; nearest: bad (< 0.1%)"
    assert str(none).startswith("no label; nearest: bad")
    assert "prediction=[], label='bad'" in repr(none)
    assert "<h1>Why no label?</h1>" in render(none)
    assert about(none, most_probable=False).headline == "no label; explained: bad (< 0.1%)"
    two = about(none, prediction=["bad", "fine"], probability=0.8)
    assert two.headline == "bad (80.0%); also given: fine"
    other = about(two, prediction=["fine"], probability=0.2)
    assert other.headline == "bad (20.0%), not given; given: fine"
    assert about(two, prediction=["bad"]).headline == "bad (80.0%)"
    turned = ({"prediction": labels, "confidence": 0.973} for labels in (["drama"], ["bad", "fine"], []))
    assert list(map(two.asked.shown, turned)) == ["drama (97.3%)", "bad, fine (97.3%)", "(no label) (97.3%)"]


def about(found: Explanation, **changed: Any) -> Explanation:
    return dataclasses.replace(found, asked=dataclasses.replace(found.asked, **changed))


def test_it_becomes_json() -> None:
    found = json.loads(json.dumps(explain(Predictor(two_readers()), TEXT).as_json()))
    assert found["words"][1]["word"] == "plot"
    assert found["faithfulness"]["score"] <= 1


@pytest.mark.parametrize(
    ("text", "label", "says"),
    [
        (" ", None, "the text is empty"),
        ("a \ud800 film", None, "half of a surrogate pair"),
        (TEXT, "awful", "no such label; it has 'bad', 'fine'"),
    ],
)
def test_says_what_cannot_be_explained(text: str, label: str | None, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        explain(Predictor(small_trained_model()), text, label=label)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("score", "agreement", "says"),
    [
        (
            0.95,
            0.9,
            "This explanation can be trusted: by deletion of words, its shares did better in 38 of 40 comparisons with",
        ),
        (0.95, 0.9, "It says what moved the answer, which may be wrong."),
        (
            0.8875,
            0.9,
            "Do not rely on this explanation: by deletion of words, its shares did better in 35.5 of 40 comparisons",
        ),
        (0.5, 0.9, "20 of 40 comparisons with random rankings; it needs 90% of them."),
        (0.95, 0.2, "Do not rely on the order of the words in this explanation: by deletion of words, its shares did"),
        (0.95, 0.2, "but other methods rank the words differently (median rank correlation 0.20)."),
        (0.95, -0.2, "(median rank correlation −0.20)."),
    ],
)
def test_the_verdict_says_whether_to_trust(score: float, agreement: float, says: str) -> None:
    found = explain(Predictor(two_readers()), TEXT)
    assert found.faithfulness is not None
    judged = dataclasses.replace(
        found,
        faithfulness=dataclasses.replace(found.faithfulness, score=score),
        agreement={"occlusion": agreement, "gradient-x-input": -1.0, "leave-one-out": 1.0},
    )
    assert says in judged.verdict
    assert judged.trusted == ("can be trusted" in judged.verdict)
    assert "too few words" in explain(Predictor(two_readers()), "loved it").verdict


def test_an_answer_that_words_hardly_move_has_no_explanation_to_trust() -> None:
    found = explain(Predictor(two_readers()), TEXT)
    assert found.faithfulness is not None
    words = tuple(dataclasses.replace(word, shares={"counting": 0.004, "transformer": -0.001}) for word in found.words)
    checked = dataclasses.replace(found.faithfulness, score=1.0)
    empty = dataclasses.replace(found, words=words, unexplained=0.0, faithfulness=checked)
    assert empty.verdict == "There is nothing to explain: the words hardly move this answer."
    assert empty.trusted is None
    unexplained = dataclasses.replace(empty, margin=4.0, unexplained=4.0, agreement={})  # as of a saturated gradient
    assert "nothing to explain" not in unexplained.verdict
    assert "The shares do not add up: +4.00 of" in unexplained.verdict


def test_only_the_order_of_words_is_trusted_if_their_shares_do_not_add_up() -> None:
    found = explain(Predictor(two_readers()), TEXT)
    assert found.faithfulness is not None
    checked = dataclasses.replace(found.faithfulness, score=1.0)
    found = dataclasses.replace(found, margin=4.0, unexplained=-3.0, faithfulness=checked, agreement={})
    assert found.verdict.startswith("The order of the words in this explanation can be trusted: by deletion of words")


@pytest.mark.parametrize(("margin", "error", "said"), [(4.0, 0.9, False), (4.0, -1.1, True), (0.1, 0.2, False)])
def test_the_verdict_says_that_shares_do_not_add_up(margin: float, error: float, said: bool) -> None:
    found = dataclasses.replace(explain(Predictor(two_readers()), TEXT), margin=margin, unexplained=error)
    assert found.verdict.endswith("The shares do not add up: −1.10 of the margin of +4.00 is not explained.") == said


@pytest.mark.parametrize(("words", "method"), [(32, "shapley"), (33, "integrated-gradients")])
def test_the_default_method_depends_on_the_length(words: int, method: str) -> None:
    assert explain(Predictor(two_readers()), "plot " * words).method == method


def test_extra_parts_are_there_if_asked_for() -> None:
    found = explain(Predictor(two_readers()), TEXT, counterfactual=True, heads=True, neighbours=True)
    assert found.counterfactual is not None
    assert len(found.heads) == 2
    assert all(len(near) == 5 for near in found.neighbours.values())
    assert set(found.agreement) == {"integrated-gradients", "gradient-x-input", "occlusion", "leave-one-out"}
    document = json.loads(json.dumps(found.as_json()))
    assert document["heads"][0]["layer"] == 1
    assert document["verdict"] == found.verdict
    assert document["readers"] == ["counting", "transformer"]
    assert document["counterfactual"]["sentence"] == found.counterfactual.sentence
    assert document["counterfactual"]["prediction"] == found.counterfactual.prediction
    plain = explain(Predictor(two_readers()), TEXT)
    assert (plain.counterfactual, plain.heads, plain.neighbours, plain.passages) == (None, (), {}, ())


def test_heads_of_a_transformer_that_takes_no_part_are_left_out() -> None:
    found = explain(Predictor(two_readers(transformer=0.0)), TEXT, heads=True)
    assert (found.heads, found.agreement) == ((), {})


def test_the_pieces_are_the_whole_text() -> None:
    found = explain(Predictor(two_readers()), TEXT)
    pieces = list(found.pieces())
    assert "".join(piece.text for piece in pieces) == TEXT
    assert max(piece.strength for piece in pieces) == 1
    assert {piece.side for piece in pieces} == {"for", "against", "neither"}


def test_the_nearest_training_texts_go_with_it() -> None:
    predictor = Predictor(keeping(two_readers()))
    found = explain(predictor, TEXT, nearest=True, faithfulness=False)
    assert found.nearest is not None
    assert len(found.nearest.texts) == 5
    document = json.loads(json.dumps(found.as_json()))["nearest"]
    assert document["texts"][0]["similarity"] == found.nearest.texts[0].similarity
    assert (document["by"], document["compared"]) == ("transformer", "cosine of the transformer's vectors")
    assert "training text" in explain(predictor, "i loved it", nearest=True).as_json()["nearest"]["remark"]
    assert explain(predictor, TEXT, faithfulness=False).as_json()["nearest"] is None
    with pytest.raises(UsageError, match="does not keep its training texts"):
        explain(Predictor(two_readers()), TEXT, nearest=True)


def test_a_text_without_known_words_is_told_apart() -> None:
    found = explain(Predictor(two_readers()), "qqq zzz xxx vvv")
    assert found.readers == ()
    assert found.verdict == "The model knows no word of this text, so the answer does not depend on its words."
    assert not found.trusted


def test_the_headline_names_the_answer_if_another_label_is_explained() -> None:
    answer = explain(Predictor(two_readers()), TEXT)
    other = explain(Predictor(two_readers()), TEXT, label=answer.rival)
    assert answer.headline.endswith(f"rather than {answer.rival}")
    assert other.headline.endswith(f"rather than the answer, {answer.label}")
    assert str(answer).startswith(answer.headline)
    assert answer.verdict in str(answer)


def test_something_else_than_a_text_is_refused() -> None:
    with pytest.raises(InputError, match="a text is a string, not list"):
        explain(Predictor(two_readers()), [TEXT])  # type: ignore[arg-type]


def test_it_says_whether_the_text_is_unlike_the_training_data() -> None:
    trained = small_trained_model()
    assert explain(Predictor(trained), TEXT).unlike_training is None
    seen = Seen(hashes=np.unique(ngram_hashes(TEXT)), config=UnlikeConfig(threshold=0.5, held_out_rows=10))
    predictor = Predictor(dataclasses.replace(trained, seen=seen))
    known, unlike = explain(predictor, TEXT), explain(predictor, "qqq zzz xxx vvv")
    assert (known.unlike_training, unlike.unlike_training) == (False, True)
    assert unlike.as_json()["unlike_training"]
    says = "The text is unlike the training data, so the answer means little."
    assert str(unlike).endswith(says)
    assert says not in str(known)
    assert says in render(unlike)
    assert says not in render(known)


def test_the_shares_in_print_add_up_and_its_repr_is_short() -> None:
    found = explain(Predictor(two_readers()), TEXT * 9)
    shares = re.findall(r"^ *([+−]?\d+\.\d\d)  (.+)$", str(found), re.MULTILINE)
    *parts, (margin, last) = [(float(share.replace("−", "-")), name) for share, name in shares]
    assert last == "sum"
    assert margin == pytest.approx(found.margin, abs=0.006)
    assert sum(share for share, _ in parts) == pytest.approx(margin, abs=0.06)
    assert "if all words were unknown" in [name for _, name in parts]
    assert len(repr(found)) < 300


def test_the_occurrences_of_a_word_stand_together_if_not_all_words_are_shown() -> None:
    found = explain(Predictor(two_readers()), "loved it, loved it")
    each, others = found.strongest(5)
    assert sorted(name for name, _ in each) == [",", "it", "it", "loved", "loved"]
    assert others == []
    together, others = found.strongest(2)
    names = {"loved": "loved (2 times)", "it": "it (2 times)", ",": ","}
    assert [name for name, _ in together] == [names[words[0].word] for _, words in together]
    assert len(others) + sum(len(words) for _, words in together) == 5
    sums = [abs(sum(word.total for word in words)) for _, words in together]
    assert sums == sorted(sums, reverse=True)


@pytest.mark.parametrize(
    ("value", "written"), [(1.254, "+1.25"), (-0.3, "−0.30"), (-0.004, "0.00"), (0.004, "0.00"), (0.0, "0.00")]
)
def test_a_share_that_rounds_to_zero_has_no_sign(value: float, written: str) -> None:
    assert signed(value) == written
