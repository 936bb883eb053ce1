"""What `transformers` makes of an exported folder: the same ids, logits and probabilities."""

import dataclasses
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from glassformer.data.labels import LabelSet
from glassformer.data.tokenizers import START_ID, TextTokenizer, TokenizerConfig
from glassformer.errors import GlassformerError, UsageError
from glassformer.exporting.transformers_folder import write_transformers
from glassformer.models.build import build_model
from glassformer.models.checkpoints_out import write_weights
from glassformer.models.model_config import PRESETS, ModelConfig
from glassformer.prediction.answering_config import ReaderConfig, Readers
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import labels_of
from glassformer.targets.probabilities import probabilities
from glassformer.training.initial_weights import read_initial_weights, start_from
from tests.checkpoints import FAMILIES, MODEL_TYPES
from tests.exporting.samples import LABELS, SMALL, TEXTS, fine_tuned, from_scratch
from tests.test_house import FILES, imported

transformers.utils.logging.disable_progress_bar()

WORDS = ("flabbergasted",)
TOKENIZERS = ("word", "character", "byte", "bpe", "wordpiece", "unigram")
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((family, {}) for family in FAMILIES),
    ("bert", {"hidden_act": "gelu_new"}),
    ("modernbert", {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "classifier_bias": True}),
    ("modernbert", {"classifier_pooling": "mean", "hidden_activation": "silu", "local_attention": 5}),
    ("eurobert", {"classifier_pooling": "bos", "attention_bias": True}),
]


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What the library warns of; it writes that to the terminal by itself."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("transformers").addHandler(handler)
    yield said
    logging.getLogger("transformers").removeHandler(handler)


def theirs_of(folder: Path, texts: list[str]) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """The batch that the tokenizer of the library makes, and the logits of its model."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        return batch, model(**batch).logits.numpy()


def ours_of(trained: TrainedModel, texts: list[str]) -> np.ndarray[Any, Any]:
    return Predictor(trained).logits(texts) / labels_of(trained.config.target).temperature


def assert_equal(trained: TrainedModel, folder: Path) -> None:
    """Ids and logits, of a batch with padding and of each text alone."""
    ids = [[START_ID, *row] for row in trained.tokenizer.encode(TEXTS)]
    texts = [text for text, row in zip(TEXTS, ids, strict=True) if len(row) <= trained.config.model.max_seq_len]
    assert len(texts) > len(TEXTS) / 2
    expected = ours_of(trained, texts)
    assert expected.std() > 0.05
    batch, logits = theirs_of(folder, texts)
    found = [row[mask.bool()].tolist() for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)]
    assert found == [row for row in ids if len(row) <= trained.config.model.max_seq_len]
    assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    assert_allclose(theirs_of(folder, texts[:1])[1], expected[:1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("family", "settings"), VARIANTS, ids=str)
def test_a_fine_tuned_checkpoint_goes_back_to_its_family(
    family: str, settings: dict[str, Any], tmp_path: Path, complaints: list[str]
) -> None:
    trained = fine_tuned(tmp_path / "in", family, settings)
    (tmp_path / "out").mkdir()
    write_transformers(trained, tmp_path / "out")
    config = json.loads((tmp_path / "out/config.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert config["model_type"] == family
    assert (config["cls_token_id"], config["sep_token_id"]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    complaints.clear()
    assert_equal(trained, tmp_path / "out")
    assert not complaints


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset(preset: str, tmp_path: Path, complaints: list[str]) -> None:
    trained = from_scratch(PRESETS[preset])
    write_transformers(trained, tmp_path)
    assert_equal(trained, tmp_path)
    assert not complaints


@pytest.mark.parametrize(
    "changes",
    [{"feed_forward": "swiglu"}, {"feed_forward": "glu", "n_layers": 1}, {"pooling": "first", "max_seq_len": 13}],
    ids=str,
)
def test_other_settings(changes: dict[str, Any], tmp_path: Path) -> None:
    trained = from_scratch(SMALL.model_copy(update=changes))
    write_transformers(trained, tmp_path)
    assert_equal(trained, tmp_path)


@pytest.mark.parametrize(
    ("kind", "words"),
    [*((kind, ()) for kind in TOKENIZERS), *((kind, WORDS) for kind in ("word", "bpe", "wordpiece", "unigram"))],
)
def test_every_tokenizer(kind: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    settings = TokenizerConfig(kind=kind, min_frequency=1, vocab_size=400)
    trained = from_scratch(SMALL.model_copy(update={"max_seq_len": 80}), tokenizer=settings, words=words)
    write_transformers(trained, tmp_path)
    assert_equal(trained, tmp_path)


def test_a_long_text_is_cut_to_the_window(tmp_path: Path) -> None:
    trained = from_scratch()
    write_transformers(trained, tmp_path)
    text = " ".join(TEXTS[:1] * 20)
    cut = AutoTokenizer.from_pretrained(tmp_path)(text, truncation=True)["input_ids"]
    assert cut == [START_ID, *trained.tokenizer.encode([text])[0]][: SMALL.max_seq_len]


def test_a_tokenizer_that_reads_few_tokens(tmp_path: Path) -> None:
    trained = from_scratch(tokenizer=TokenizerConfig(min_frequency=1, max_tokens=5))
    notes = write_transformers(trained, tmp_path)
    cut = AutoTokenizer.from_pretrained(tmp_path)(TEXTS[0], truncation=True)["input_ids"]
    assert cut == [START_ID, *trained.tokenizer.encode([TEXTS[0]])[0]]
    assert len(cut) == 6
    assert "more than 6 tokens" in "\n".join(notes)


def with_readers(trained: TrainedModel, *, counting: float, transformer: float) -> TrainedModel:
    counting_too, alone = (
        ReaderConfig(weight=counting, temperature=0.9),
        ReaderConfig(weight=transformer, temperature=0.6),
    )
    readers = Readers({"counting": counting_too, "transformer": alone})
    return dataclasses.replace(trained, config=trained.config.model_copy(update={"readers": readers}))


def test_of_two_readers_the_transformer_answers_alone(tmp_path: Path) -> None:
    trained = with_readers(from_scratch(), counting=0.4, transformer=0.7)
    notes = write_transformers(trained, tmp_path)
    assert "counting reader is left out" in "\n".join(notes)
    logits = Predictor(trained).alone("transformer", TEXTS)
    expected = probabilities(0.7 * logits, temperature=0.6, multilabel=False)
    assert_allclose(theirs_of(tmp_path, TEXTS)[1], logits * 0.7 / 0.6, rtol=1e-5, atol=1e-5)
    classify = transformers.pipeline("text-classification", model=str(tmp_path), truncation=True, top_k=None)
    for found, row in zip(classify(TEXTS), expected, strict=True):
        assert_allclose([next(one["score"] for one in found if one["label"] == label) for label in LABELS], row, 1e-4)


def test_a_counting_reader_of_weight_0_is_not_missed(tmp_path: Path) -> None:
    notes = write_transformers(with_readers(from_scratch(), counting=0.0, transformer=0.7), tmp_path)
    assert "counting" not in "\n".join(notes)


def test_several_labels_per_text(tmp_path: Path) -> None:
    trained = from_scratch(multilabel=True, labels=("drama", 1, 2.5))
    write_transformers(trained, tmp_path)
    (found,) = transformers.pipeline("text-classification", model=str(tmp_path), truncation=True, top_k=None)(TEXTS[:1])
    expected = probabilities(Predictor(trained).logits(TEXTS[:1]), temperature=1.7, multilabel=True)[0]
    assert {one["label"]: pytest.approx(one["score"], abs=1e-5) for one in found} == dict(
        zip(("drama", "1", "2.5"), expected, strict=True)
    )


@pytest.mark.parametrize("source", [*MODEL_TYPES, "from-scratch"])
def test_out_and_in_again(source: str, tmp_path: Path) -> None:
    trained = from_scratch(words=WORDS) if source == "from-scratch" else fine_tuned(tmp_path / "in", source, {})
    (tmp_path / "out").mkdir()
    write_transformers(trained, tmp_path / "out")
    initial = read_initial_weights(f"hf:{tmp_path / 'out'}")
    assert initial.labels == LABELS
    model = build_model(initial.model, initial.tokenizer.vocab_size, len(LABELS))
    assert "the head too" in start_from(model, initial.model, initial, LabelSet(names=LABELS))
    target = trained.config.target.model_copy(update={"temperature": 1.0})
    config = trained.config.model_copy(update={"model": initial.model, "target": target})
    again = dataclasses.replace(trained, config=config, model=model, tokenizer=initial.tokenizer)
    assert [row.tolist() for row in again.tokenizer.encode(TEXTS)] == [
        row.tolist() for row in trained.tokenizer.encode(TEXTS)
    ]
    assert_allclose(ours_of(again, TEXTS), ours_of(trained, TEXTS), rtol=1e-5, atol=1e-5)


def test_what_transformers_has_saved_is_read_too(tmp_path: Path) -> None:
    trained = from_scratch()
    write_transformers(trained, tmp_path)
    AutoTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path / "again")
    AutoModelForSequenceClassification.from_pretrained(tmp_path).save_pretrained(tmp_path / "again")
    initial = read_initial_weights(f"hf:{tmp_path / 'again'}")
    assert initial.labels == LABELS
    assert initial.tokenizer.encode(TEXTS)[0].tolist() == trained.tokenizer.encode(TEXTS)[0].tolist()


def test_the_readme_runs_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_transformers(from_scratch(), tmp_path)
    readme = (tmp_path / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    exec(code.replace("path/to/this/folder", str(tmp_path)))
    assert "'label': " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("trained", "words"),
    [
        (lambda: with_readers(from_scratch(), counting=1.0, transformer=0.0), "answers by counting alone"),
        (lambda: from_scratch(labels=("good",)), "one label"),
        (lambda: from_scratch(ModelConfig(d_model=16, n_heads=2, norm="layer")), "model.norm is 'layer'"),
        (lambda: from_scratch(labels=tuple(range(9))), "9 labels are more than half of model.d_model = 16"),
    ],
)
def test_a_model_without_an_equivalent_is_refused(trained: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        write_transformers(trained(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_that_say_something_else_are_not_handed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: Any) -> dict[str, torch.Tensor]:
        return {name: tensor * 1.01 for name, tensor in write_weights(*arguments).items()}

    monkeypatch.setattr("glassformer.exporting.transformers_folder.write_weights", wrong)
    with pytest.raises(GlassformerError, match="other logits than the model"):
        write_transformers(from_scratch(), tmp_path)


def test_a_tokenizer_that_adds_what_it_does_not_say_is_found_out(tmp_path: Path) -> None:
    """A model folder of others may have such a step. The format has only a template with a start and an end token."""
    trained = from_scratch()
    spec = json.loads(trained.tokenizer.to_json())
    spec["post_processor"] = {"type": "RobertaProcessing", "sep": ["<unk>", 1], "cls": ["<cls>", 2],
                              "trim_offsets": True, "add_prefix_space": False}  # fmt: skip
    odd = dataclasses.replace(trained, tokenizer=TextTokenizer(Tokenizer.from_str(json.dumps(spec))))
    with pytest.raises(GlassformerError, match="other token ids"):
        write_transformers(odd, tmp_path)


def test_nothing_of_ours_imports_transformers() -> None:
    assert not [path for path in FILES if any(name.split(".")[0] == "transformers" for name in imported(path))]
