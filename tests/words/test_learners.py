from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.models.classifier import Classifier
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import ModelConfig
from glassformer.models.published.notes_decoder import NotesLanguageModelConfig
from glassformer.models.reward import RewardModel
from glassformer.prediction.folder_config import (
    FolderConfig,
    LanguageFolderConfig,
    NewWord,
    RewardFolderConfig,
    RewardScale,
)
from glassformer.prediction.model_folder import TrainedLanguageModel, TrainedRewardModel, save_model
from glassformer.words.learners import context_vectors, enlarged, load_learner, read_card, trunk_of
from tests.prediction.language import trained_language_model
from tests.support import randomise
from tests.words.samples import CAUSAL, KNOWN, MASKED, SHAPE, language_model_of_known, trained_on_known

KINDS = ["word", "wordpiece", "bpe", "unigram"]
ADDED = [
    NewWord(word=word, definition="aao bbo", source="given", method="average") for word in ("gagaga", "hahi", "gran")
]


def taught(trained: TrainedLanguageModel) -> TrainedLanguageModel:
    """With three words whose embeddings are chance."""
    old = trunk_of(trained).get_parameter("embedding.weight").detach()
    table = torch.cat([old, torch.randn(len(ADDED), old.shape[1], generator=torch.Generator().manual_seed(6))])
    return enlarged(trained, trained.tokenizer.with_words([new.word for new in ADDED]), table, ADDED)


def read(trained: TrainedLanguageModel, text: str) -> tuple[Tensor, Tensor]:
    """The hidden states (1, seq, d_model) of a text and the logits of what each place predicts (1, seq, vocab)."""
    assert isinstance(trained.model, LanguageModel)
    ids = torch.tensor([[START_ID, *trained.tokenizer.encode([text])[0].tolist()]])
    with torch.inference_mode():
        hidden = trained.model.read(ids, torch.ones_like(ids, dtype=torch.bool))
        return hidden, trained.model.logits(hidden)


PAIRS = [(old, taught(old)) for old in [*map(language_model_of_known, KINDS), language_model_of_known(model=MASKED)]]


@pytest.mark.parametrize("pair", PAIRS, ids=[*KINDS, "masked"])
@given(st.lists(st.sampled_from([*KNOWN, "gagagas", "hah", "xy", "!"]), max_size=9))
def test_texts_without_the_words_get_the_same_bits(
    pair: tuple[TrainedLanguageModel, TrainedLanguageModel], words: list[str]
) -> None:
    text = " ".join(words)
    (hidden, logits), (hidden_after, logits_after) = (read(model, text) for model in pair)
    assert torch.equal(hidden, hidden_after)
    assert logits_after.shape[2] == logits.shape[2] + 3
    assert torch.equal(logits, logits_after[..., :-3])


@pytest.mark.parametrize("pair", PAIRS, ids=[*KINDS, "masked"])
def test_what_the_new_words_get_all_others_give_in_proportion(
    pair: tuple[TrainedLanguageModel, TrainedLanguageModel],
) -> None:
    before, after = (read(model, "aao bbo cao ddo")[1].double().softmax(dim=2) for model in pair)
    new = after[..., -3:].sum(dim=2, keepdim=True)
    assert (new > 0).all()
    torch.testing.assert_close(after[..., :-3], before * (1 - new), rtol=1e-12, atol=0)
    ratio = before[..., 5] / before[..., 7]
    torch.testing.assert_close(after[..., 5] / after[..., 7], ratio, rtol=1e-12, atol=0)


def test_the_rest_is_copied_and_the_old_one_stays() -> None:
    fresh, (old, new) = language_model_of_known(), PAIRS[0]
    assert old.config == fresh.config
    assert old.tokenizer.vocabulary() == fresh.tokenizer.vocabulary()
    assert new.config.vocab_size == new.tokenizer.vocab_size == old.config.vocab_size + 3
    for name, tensor in old.model.state_dict().items():
        assert torch.equal(tensor, fresh.model.state_dict()[name])
        kept = new.model.state_dict()[name]
        assert torch.equal(kept[:-3] if name == "trunk.embedding.weight" else kept, tensor)
    assert not new.model.training
    assert old.config.new_words == ()
    assert new.config.new_words == tuple(ADDED)
    assert new.config.data == old.config.data


def test_a_folder_of_either_kind_is_read(tmp_path: Path) -> None:
    save_model(tmp_path / "classifier", trained_on_known(), card="# It answers\n")
    save_model(tmp_path / "writer", PAIRS[0][1], card="# It writes\n")
    assert isinstance(load_learner(tmp_path / "classifier").config, FolderConfig)
    writer = load_learner(tmp_path / "writer")
    assert isinstance(writer.config, LanguageFolderConfig)
    assert writer.config.new_words == tuple(ADDED)
    assert read_card(tmp_path / "writer") == "# It writes\n"
    (tmp_path / "writer" / "README.md").unlink()
    assert read_card(tmp_path / "writer") == "# A glassformer model\n"


def test_folders_of_no_learner(tmp_path: Path) -> None:
    base = trained_language_model()
    scale = RewardScale(means=(0.0,), deviations=(1.0,), disagreement=1.0)
    config = RewardFolderConfig(**base.config.model_dump(exclude={"format"}) | {"model": CAUSAL, "scale": scale})
    judge = TrainedRewardModel(
        config=config,
        model=RewardModel(LanguageModel(CAUSAL, config.vocab_size), members=1),
        tokenizer=base.tokenizer,
        metrics={},
    )
    save_model(tmp_path / "judge", judge, card="")
    with pytest.raises(UsageError, match="holds a reward model; only classifiers and language models can learn words"):
        load_learner(tmp_path / "judge")
    with pytest.raises(UsageError, match="no such model folder"):
        load_learner(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="not a model folder"):
        load_learner(tmp_path / "empty")


def test_language_models_that_cannot_learn_words() -> None:
    notes = NotesLanguageModelConfig(emb_dim=12, num_heads=3, n_layers=1, max_seq_len=10)
    with pytest.raises(UsageError, match="'notes-language-model': only our own designs"):
        trunk_of(trained_language_model(model=notes))
    with pytest.raises(UsageError, match="'byte' has no words"):
        trunk_of(trained_language_model())


def test_the_new_words_are_read_with_their_own_embeddings() -> None:
    old, new = PAIRS[0]
    before, after = (read(model, "aao gran bbo")[0].numpy() for model in (old, new))
    np.testing.assert_array_equal(before[:, :2], after[:, :2])
    assert (before[:, 2:] != after[:, 2:]).any(axis=2).all()


ROWS = [np.array(ids) for ids in ([4, 5, 6], [7], [9, 8, 3, 3, 10])]


def model(config: ModelConfig = SHAPE) -> Classifier:
    return randomise(Classifier(config, vocab_size=11, n_classes=3)).eval()


def table(classifier: Classifier) -> torch.Tensor:
    return classifier.get_parameter("trunk.embedding.weight").detach()


@pytest.mark.parametrize("residual", ["pre-norm", "post-norm"])
def test_it_is_the_mean_of_the_last_hidden_states_without_the_start(residual: str) -> None:
    classifier = model(SHAPE.model_validate(SHAPE.model_dump() | {"residual": residual}))
    found = context_vectors(classifier.trunk, ROWS, table(classifier), max_seq_len=16)
    assert found.shape == (3, 12)
    for ids, vector in zip(ROWS, found, strict=True):
        alone = torch.tensor([[2, *ids]])  # 2 is the start token; no padding
        hidden = classifier.trunk.read(alone, torch.ones_like(alone, dtype=torch.bool))
        torch.testing.assert_close(torch.from_numpy(vector).float(), hidden[0, 1:].mean(dim=0))


def test_it_reads_with_the_table_that_is_given() -> None:
    classifier = model()
    before = table(classifier).clone()
    extra = torch.randn(1, 12)
    rows = [np.array([4, 11, 6]), np.array([4, 5])]
    found = context_vectors(classifier.trunk, rows, torch.cat([before, extra]), max_seq_len=16)
    assert torch.equal(table(classifier), before)
    changed = before.clone()
    changed[5] = extra
    same = context_vectors(classifier.trunk, [np.array([4, 5, 6])], changed, max_seq_len=16)
    np.testing.assert_array_equal(found[:1], same)


def test_an_empty_row_and_one_longer_than_the_window() -> None:
    classifier = model()
    long = np.array([4, 5, 6, 7, 8] * 9)
    found = context_vectors(classifier.trunk, [long, np.array([], dtype=np.int64)], table(classifier), max_seq_len=16)
    assert np.isfinite(found).all()
    assert not found[1].any()
    assert found[0].any()
