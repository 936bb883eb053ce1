import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.explanation.explain import explain
from glassformer.models.build import DESIGNS as ALL_DESIGNS
from glassformer.models.build import AnyModelConfig, build_model
from glassformer.models.model_config import PRESETS, ModelConfig
from glassformer.models.pretrained import PretrainedConfig
from glassformer.models.published.bui_dang import BuiDangColumnsConfig, BuiDangRowsConfig
from glassformer.models.published.notes_decoder import NotesDecoderConfig
from glassformer.models.published.sentiment140 import Sentiment140Config
from glassformer.models.published.vinh import VinhAttentionConfig, VinhMLPConfig, VinhTransformerConfig
from glassformer.models.published.vinh_recurrent import VinhRecurrentConfig
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.change_costs import with_costs
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.readers.body.reader import BodyReader
from glassformer.targets.labels.target import labels_of
from glassformer.targets.number.held_out import Scale
from glassformer.targets.number.target import Number
from glassformer.tracing import trace as tracing
from glassformer.tracing.layers import tensors_of
from glassformer.tracing.trace import Trace, trace
from glassformer.tracing.writing import as_json, stages_of, write_npz
from tests.explanation.test_explain import two_readers, with_rules
from tests.prediction.samples import SMALL, small_trained_model
from tests.serving.samples import INPUTS, ROW, of_rows
from tests.support import randomise
from tests.tracing.arithmetic import recomputed

TEXT = "The plot is thin, but i loved it"
ENCODER: dict[str, Any] = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 24, "max_seq_len": 24}
CHOICES: dict[str, tuple[str, ...]] = {
    "positions": ("none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"),
    "norm": ("layer", "rms", "batch", "none"),
    "residual": ("pre-norm", "post-norm"),
    "attention": ("full", "causal"),
    "feed_forward": ("linear", "relu", "gelu", "glu", "swiglu", "geglu"),
    "pooling": ("first", "last", "mean", "max", "attention", "flatten"),
}
DESIGNS: dict[str, AnyModelConfig] = {
    **PRESETS,
    "one-hot": SMALL.model_copy(update={"embedding": "one-hot", "d_model": 64, "positions": "sinusoidal"}),
    **{
        f"{name}={value}": ModelConfig.model_validate(SMALL.model_dump() | {"n_layers": 2, name: value})
        for name, values in CHOICES.items()
        for value in values
    },
    "post-norm, layer": SMALL.model_copy(update={"residual": "post-norm", "norm": "layer"}),
    "head=ordered": SMALL.model_copy(update={"head": "ordered"}),
    "bert": PretrainedConfig.model_validate(ENCODER),
    "modernbert": PretrainedConfig.model_validate(
        ENCODER
        | {"residual": "pre-norm", "norm_bias": False, "attention_bias": False, "feed_forward": "gated"}
        | {"feed_forward_bias": False, "positions": "rotary", "local_blocks": (1,), "local_reach": 2}
        | {"local_rotary_base": 100.0, "pooling": "mean", "head_activation": "gelu", "head_norm": "layer"}
    ),
    "relu and silu": PretrainedConfig.model_validate(ENCODER | {"activation": "relu", "head_activation": "silu"}),
    "sentiment140": Sentiment140Config(d_model=16, n_layers=2, n_heads=2, d_ff=24, max_seq_len=24),
    "notes-decoder": NotesDecoderConfig(emb_dim=12, n_layers=2, num_heads=3, max_seq_len=24),
    "notes-decoder, causal": NotesDecoderConfig(emb_dim=12, num_heads=2, max_seq_len=24, is_decoder=True),
    "vinh-mlp": VinhMLPConfig(max_seq_len=24, embed_dim=6),
    "vinh-attention": VinhAttentionConfig(max_seq_len=24, embed_dim=6),
    "vinh-attention, as meant": VinhAttentionConfig(max_seq_len=24, embed_dim=6, flattens="attention"),
    "bui-dang-rows": BuiDangRowsConfig(max_seq_len=24, hidden=6, n_heads=3),
    "bui-dang-columns": BuiDangColumnsConfig(max_seq_len=24, hidden=5, n_heads=2),
    "vinh-transformer": VinhTransformerConfig(max_seq_len=24, embed_dim=12, num_heads=3),
    **{
        f"vinh-recurrent, {cell}, {directions}": VinhRecurrentConfig(
            max_seq_len=24, cell=cell, directions=directions, embed_dim=6, hidden=7
        )
        for cell in ("rnn", "gru", "lstm")
        for directions in ("forward", "both")
    },
    "tanh form of gelu": PretrainedConfig.model_validate(ENCODER | {"activation": "gelu-tanh"}),
}
OF_PLAIN_MATRICES = (
    "bui-dang-rows",
    "bui-dang-columns",
    "vinh-transformer",
    "vinh-recurrent, gru, both",
    "vinh-recurrent, lstm, both",
)
"""Published designs that compute without our layers."""


def predictor_of(config: AnyModelConfig) -> Predictor:
    trained = small_trained_model()
    torch.manual_seed(2)
    model = randomise(build_model(config, trained.config.vocab_size, trained.config.n_classes), std=0.2)
    described = trained.config.model_copy(update={"model": config})
    return Predictor(dataclasses.replace(trained, config=described, model=model))


def of_a_number() -> Predictor:
    trained = two_readers(labels=("score",))
    scale = Scale(mean=3.0, deviation=2.5, lowest=-4.0, highest=9.0)
    target = Number(column="score", scale=scale, bias=0.1)
    return Predictor(dataclasses.replace(trained, config=trained.config.model_copy(update={"target": target})))


def with_body(trained: TrainedModel, texts: int = 1, pseudocount: float = 3.0) -> TrainedModel:
    """The same model with a body beside its readers. It knows "plot" and "not", and "is" and "again" by pieces."""
    draw = np.random.default_rng(5)
    sizes = {"values": (2, 4), "piece_values": (3, 4), "head": (texts, 4, 3), "bias": (3,)}
    arrays: Any = {name: draw.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    words, pieces = ("plot", "not"), ("<is", "is>", "gain")
    known: Any = {"words": words, "pieces": pieces, "weights": np.array([0.25, 1.0], np.float32)}
    body = BodyReader(body="own", pseudocount=pseudocount, **known, **arrays)
    readers = Readers.weighing({**trained.config.weights, "body": 0.8})
    config = trained.config.model_copy(update={"readers": readers})
    return dataclasses.replace(trained, config=config, readers={**trained.readers, "body": body})


KINDS: dict[str, Callable[[], tuple[Predictor, Any]]] = {
    "both readers": lambda: (Predictor(two_readers()), TEXT),
    "a number": lambda: (of_a_number(), TEXT),
    "rows": lambda: (Predictor(of_rows()), ROW),
    "the body": lambda: (Predictor(with_body(two_readers())), TEXT),
    "the body, of older versions": lambda: (Predictor(with_body(two_readers(), pseudocount=0)), TEXT),
    "the body, of rows": lambda: (Predictor(with_body(of_rows(), texts=2)), ROW),
    **{name: lambda config=config: (predictor_of(config), TEXT) for name, config in DESIGNS.items()},  # type: ignore[misc]
}
"""Models and what they read."""


def recompute(predictor: Predictor, found: Trace) -> dict[str, Any]:
    tensors = {name: tensor.detach().numpy() for name, tensor in tensors_of(predictor.trained.model).items()}
    of_readers = ("counting.", "body.")
    given = {
        matrix.step.name: matrix.values
        for matrix in found
        if matrix.step.operation in ("given", "weight")
        and (matrix.step.name.startswith(of_readers) or matrix.step.name in ("token_ids", "base", "costs"))
    }
    return recomputed([matrix.step for matrix in found], tensors, given)


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_computes_the_same_numbers_from_the_weights(kind: str) -> None:
    predictor, given = KINDS[kind]()
    found = trace(predictor, given)
    by_numpy = recompute(predictor, found)
    assert len(by_numpy) == len(found.matrices) > 7
    for matrix in found:
        scale = max(1.0, float(np.abs(matrix.values[np.isfinite(matrix.values)]).max()))
        np.testing.assert_allclose(
            matrix.values / scale, by_numpy[matrix.step.name] / scale, rtol=1e-5, atol=1e-5, err_msg=matrix.step.name
        )
        assert len(matrix.step.axes) == matrix.values.ndim
        assert matrix.step.formula
    answers = predictor.answer([given if isinstance(given, str) else INPUTS.compose(given)])
    last = answers.values if kind == "a number" else answers.probs[0]
    np.testing.assert_allclose(list(found)[-1].values, last, atol=1e-5)
    assert found.answer in (explain(predictor, given, faithfulness=False).headline)


@pytest.mark.parametrize("transformer", [0.0, 0.7])
def test_both_readers_add_up(transformer: float) -> None:
    predictor = Predictor(two_readers(transformer=transformer))
    found = trace(predictor, TEXT)
    assert found["counting.ngrams"].shape == (len(found.ngrams), 3)
    assert len(found.ngrams) > 2
    by_numpy = recompute(predictor, found)
    for name in ("counting.logits", "counting.weighted", "transformer.weighted", "sum", "calibrated", "probabilities"):
        np.testing.assert_allclose(found[name], by_numpy[name], atol=1e-5, err_msg=name)
    readers = predictor.reader_logits([TEXT])
    np.testing.assert_allclose(found["counting.weighted"], readers["counting"][0], atol=1e-5)
    np.testing.assert_allclose(found["transformer.weighted"], readers["transformer"][0], atol=1e-5)
    np.testing.assert_allclose(found["probabilities"], predictor.answer([TEXT]).probs[0], atol=1e-6)


def test_the_body_shows_its_words_and_adds_up() -> None:
    predictor = Predictor(with_body(two_readers()))
    body = predictor.trained.readers["body"]
    assert isinstance(body, BodyReader)
    found = trace(predictor, "The plot is thin")
    assert found.words == ("the (unknown)", "plot", "is (2 pieces)", "thin (unknown)")
    assert found.parts == ("plot", "<is", "is>")
    np.testing.assert_array_equal(found["body.parts"], [body.values[0], *body.piece_values[:2]])
    np.testing.assert_allclose(found["body.words"][[1, 2]], [body.values[0], body.piece_values[:2].mean(axis=0)])
    assert not found["body.words"][[0, 3]].any()
    assert found["body.weights"].tolist() == [0, 0.25, 1, 0]
    assert found["body.shares"].tolist() == pytest.approx([0, 0.25 / 4.25, 1 / 4.25, 0])
    np.testing.assert_allclose(found["body.scores"], predictor.alone("body", ["The plot is thin"])[0], rtol=1e-5)
    assert as_json(found)["body_words"] == found.words
    stages = dict(zip([matrix.step.name for matrix in found], stages_of(found), strict=True))
    assert {stages[name] for name in ("body.parts", "body.head", "body.scores", "body.weighted")} == {"body"}
    unknown = trace(predictor, "film")
    assert (unknown.words, unknown.parts) == (("film (unknown)",), ())
    np.testing.assert_array_equal(unknown["body.scores"], body.bias)


def test_the_body_of_a_row_has_a_mean_for_each_text() -> None:
    predictor = Predictor(with_body(of_rows(), texts=2))
    found = trace(predictor, ROW)
    assert found.words == (
        "the (unknown, review)", "plot (review)", "is (2 pieces, review)", "thin (unknown, review)",
        "not (reply)", "again (1 piece, reply)",
    )  # fmt: skip
    assert found["body.shares"].tolist() == pytest.approx([0, 0.25 / 4.25, 1 / 4.25, 0, 0.2, 0.2])
    np.testing.assert_allclose(found["body.scores"], predictor.alone("body", [INPUTS.compose(ROW)])[0], rtol=1e-5)


def test_rules_are_named_and_add_up() -> None:
    names = labels_of(two_readers().config.target).names
    predictor = Predictor(
        with_rules(two_readers(), f'"plot" -> {names[0]} 1.5\n"zzz" -> {names[0]}\n/th.n/ -> not {names[1]} 2')
    )
    found = trace(predictor, TEXT)
    assert found.rules == (f'line 1: "plot" -> {names[0]}', f"line 3: /th.n/ -> not {names[1]}")
    np.testing.assert_array_equal(found["rules.matched"], [[1.5, 0, 0], [0, -2, 0]])
    np.testing.assert_array_equal(found["rules.scores"], [1.5, -2, 0])
    np.testing.assert_allclose(found["probabilities"], predictor.answer([TEXT]).probs[0], atol=1e-6)
    assert as_json(found)["rules"] == found.rules
    assert trace(predictor, "a film").rules == ()
    stages = dict(zip([matrix.step.name for matrix in found], stages_of(found), strict=True))
    assert {stages[name] for name in ("rules.matched", "rules.bias", "rules.scores", "sum of 2", "sum")} == {"answer"}


@pytest.mark.parametrize("design", ["small", "pooling=flatten", "one-hot", "bert", "sentiment140", *OF_PLAIN_MATRICES])
def test_gradients_say_how_the_margin_moves(design: str) -> None:
    """By differences: every hundredth number of a weight is moved a little, and the text is read again."""
    predictor = predictor_of(DESIGNS[design])
    model = predictor.trained.model.double()
    found = trace(predictor, TEXT)
    first, rival = found.labels.index(found.label), found.labels.index(str(found.rival))
    read = found["token_ids"].astype(np.int64)
    ids = torch.from_numpy(read if found.tokens[0] == "(start)" else np.array([START_ID, *read]))[None]
    tensors = tensors_of(model)

    def margin() -> float:
        logits = model(ids, torch.ones_like(ids, dtype=torch.bool))[0]
        return float(logits[first] - logits[rival])

    checked = 0
    with torch.no_grad():
        for matrix in found:
            if matrix.step.operation != "weight" or matrix.gradient is None:
                continue
            flat, gradient = tensors[matrix.step.name].view(-1), matrix.gradient.ravel()
            for place in range(0, len(gradient), len(gradient) // 3 + 1):
                flat[place] += 1e-4
                above = margin()
                flat[place] -= 2e-4
                below = margin()
                flat[place] += 1e-4
                assert (above - below) / 2e-4 == pytest.approx(gradient[place], rel=1e-3, abs=1e-5), matrix.step.name
                checked += 1
    assert checked > 15
    slopes = {matrix.step.name for matrix in found if matrix.gradient is not None}
    assert slopes >= {"logits"} | ({"embedding", "pooled"} if design not in OF_PLAIN_MATRICES else set())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_number_is_traced_back_from_its_score() -> None:
    found = trace(of_a_number(), TEXT)
    assert (found.labels, found.label, found.rival, found.score) == (("score",), "score", None, "score")
    np.testing.assert_allclose(found["number"], 3.0 + 0.1 * 2.5 + 2.5 * found["sum"], rtol=1e-6)
    gradient = next(matrix.gradient for matrix in found if matrix.step.name == "logits")
    assert gradient is not None
    assert gradient.tolist() == [1.0]


def test_of_a_row_each_token_and_ngram_is_written_as_in_its_text() -> None:
    found = trace(Predictor(of_rows()), ROW)
    assert found.text == "shop=Berlin, price=3 to 5.5\nreview: the plot is thin\nreply: not again"
    words = ("shop=Berlin", "price=3 to 5.5", "the", "plot", "is", "thin", "(next text)", "not", "again")
    assert found.tokens == ("(start)", *words)
    assert found.ngrams == ("ot (characters)", "t␣ (characters)", "ot␣ (characters)")


def test_several_labels_have_no_rival() -> None:
    found = trace(Predictor(small_trained_model(multilabel=True, temperature=1.7)), TEXT)
    assert found.rival is None
    np.testing.assert_allclose(found["probabilities"], 1 / (1 + np.exp(-found["calibrated"])), atol=1e-6)


@pytest.mark.parametrize("multilabel", [False, True])
def test_costs_lead_to_the_answer(multilabel: bool) -> None:
    trained = small_trained_model(multilabel=multilabel)
    names = labels_of(trained.config.target).names
    predictor = Predictor(dataclasses.replace(trained, config=with_costs(trained.config, {names[0]: 50})))
    found = trace(predictor, TEXT)
    stages = dict(zip([matrix.step.name for matrix in found], stages_of(found), strict=True))
    by_numpy = recompute(predictor, found)
    given = predictor.answer([TEXT]).given[0]
    if multilabel:
        np.testing.assert_array_equal(found["given_wrongly"] <= found["left_out"], given)
    else:
        assert found["costs"].shape == (3, 3)
        assert found["expected_costs"].argmin() == given.argmax()
    for name in ("left_out", "given_wrongly") if multilabel else ("expected_costs",):
        np.testing.assert_allclose(found[name], by_numpy[name], rtol=1e-5, err_msg=name)
        assert stages[name] == "answer"


def test_the_tokens_are_written_as_in_the_text() -> None:
    assert trace(Predictor(small_trained_model()), TEXT).tokens == (
        "(start)", "The", "plot", "is", "thin", ",", "but", "i", "loved", "it"
    )  # fmt: skip


def test_padding_of_a_design_of_fixed_length_is_shown() -> None:
    found = trace(predictor_of(DESIGNS["vinh-mlp"]), TEXT)
    assert found.tokens == ("The", "plot", "is", "thin", ",", "but", "i", "loved", "it", *["(padding)"] * 14)
    assert found["token_ids"].tolist()[9:] == [0] * 14


def test_files_hold_every_number(tmp_path: Path) -> None:
    found = trace(Predictor(two_readers()), TEXT)
    write_npz(tmp_path / "trace.npz", found)
    arrays = np.load(tmp_path / "trace.npz", allow_pickle=False)
    document = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert tuple(arrays["tokens"]) == found.tokens == tuple(document["tokens"])
    for matrix, written in zip(found, document["matrices"], strict=True):
        np.testing.assert_array_equal(arrays[matrix.step.name], matrix.values)
        np.testing.assert_array_equal(np.array(written["values"], np.float32), matrix.values)
        assert written["shape"] == list(matrix.values.shape)
        if matrix.gradient is not None:
            np.testing.assert_array_equal(arrays[f"gradient/{matrix.step.name}"], matrix.gradient)
            np.testing.assert_array_equal(np.array(written["gradient"], np.float32), matrix.gradient)


def test_scores_of_tokens_that_may_not_be_seen_are_null_in_json() -> None:
    document = as_json(trace(predictor_of(DESIGNS["attention=causal"]), TEXT))
    scores = next(each for each in document["matrices"] if each["name"] == "blocks.0.attention.scores")
    assert scores["values"][0][0][1:] == [None] * 9


def test_weights_that_are_too_many_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor(small_trained_model())
    whole = trace(predictor, TEXT)
    assert not whole.weights_left_out
    weights = sum(matrix.values.size for matrix in whole if matrix.step.operation == "weight")
    monkeypatch.setattr(tracing, "MOST_NUMBERS", weights - 1)
    monkeypatch.setattr(tracing, "_check_length", lambda *_: None)
    short = trace(predictor, TEXT)
    assert short.weights_left_out == weights
    assert not any(matrix.step.operation == "weight" and matrix.step.name != "counting.bias" for matrix in short)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" \n", "the text is empty; give one with words"),
        ("it " * 24, "the text has 24 tokens, and a trace shows what the model reads at once, at most 23 tokens"),
    ],
)
def test_what_cannot_be_traced(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        trace(Predictor(small_trained_model()), text)


def test_a_trace_of_too_many_numbers_is_refused_before_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor(small_trained_model())
    ends = ("calibrated", "probabilities")
    counted = [matrix for matrix in trace(predictor, TEXT) if matrix.step.operation != "weight"]
    exact = sum(matrix.values.size for matrix in counted if matrix.step.name not in ends)
    monkeypatch.setattr(tracing, "MOST_NUMBERS", exact)
    trace(predictor, TEXT)
    monkeypatch.setattr(tracing, "MOST_NUMBERS", exact - 1)
    with pytest.raises(UsageError, match="the text has 9 tokens, and a trace of this model holds at most 8; give a"):
        trace(predictor, TEXT)


def test_every_design_is_traced() -> None:
    assert {config.design for config in DESIGNS.values()} == set(ALL_DESIGNS)


def test_a_row_of_a_recurrent_model_comes_from_the_row_before() -> None:
    """Gradients too: the state before is a number of its own, zeros before the first token."""
    found = trace(predictor_of(DESIGNS["vinh-recurrent, gru, both"]), TEXT)
    gradients = {matrix.step.name: matrix.gradient for matrix in found}
    for direction in ("forwards", "backwards"):
        state, before = found[f"{direction}.state"], found[f"{direction}.before"]
        assert state.shape == before.shape == (10, 7)
        assert not before[0].any()
        np.testing.assert_array_equal(before[1:], state[:-1])
        of_state, of_before = gradients[f"{direction}.state"], gradients[f"{direction}.before"]
        assert of_state is not None
        assert of_before is not None
        np.testing.assert_array_equal(of_before[1:], of_state[:-1])
        assert of_before[0].any()
    np.testing.assert_array_equal(found["backwards.embedding"], found["embedding"][::-1])
