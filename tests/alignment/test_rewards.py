import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.alignment.rewards import NO_END, RewardError, judged_by, open_reward
from glassformer.alignment.rollouts import Rollouts, roll_out
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.language_model import LanguageModel
from glassformer.models.reward import RewardModel
from glassformer.prediction.folder_config import RewardFolderConfig, RewardScale
from glassformer.prediction.model_folder import TrainedRewardModel, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.sampling import SamplingConfig
from glassformer.targets.number.held_out import Scale
from glassformer.targets.number.target import Number
from tests.prediction.language import BYTES, SMALL, TEXT, byte_tokenizer, random_model, trained_language_model
from tests.prediction.samples import small_trained_model
from tests.support import randomise

SCALE = RewardScale(means=(0.5, -1.0, 2.0), deviations=(2.0, 0.5, 4.0), disagreement=0.25)
TOKENIZER = byte_tokenizer()
PROMPTS = ["the plot", "", "it"]


def rollouts(tokenizer: TextTokenizer = TOKENIZER, *, max_tokens: int = 9, window: int = 24) -> Rollouts:
    policy = random_model(tokenizer.vocab_size, max_seq_len=window)
    return roll_out(policy, tokenizer, PROMPTS, SamplingConfig(max_tokens=max_tokens, seed=2), max_seq_len=window)


def judged(*answers: Any) -> Tensor:
    """What a function that gives this is taken for."""
    return judged_by(lambda _: list(answers), "here")(rollouts())


def saved_reward_model(
    folder: Path, *, tokenizer: TokenizerConfig = BYTES, window: int = 24, std: float = 0.2
) -> RewardModel:
    language = trained_language_model(tokenizer=tokenizer)
    shape = SMALL.model_copy(update={"max_seq_len": window})
    fields = language.config.model_dump(exclude={"format", "model"}) | {"tokenizer": language.config.tokenizer}
    policy = LanguageModel(shape, language.config.vocab_size)
    model = randomise(RewardModel(policy, members=len(SCALE.means)), std=std).eval()
    config = RewardFolderConfig(model=shape, scale=SCALE, **fields)
    save_model(
        folder, TrainedRewardModel(config=config, model=model, tokenizer=language.tokenizer, metrics={}), card="x"
    )
    return model


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def write(code: str) -> Path:
        (tmp_path / "judge.py").write_text(code)
        return tmp_path / "judge.py"

    return write


# The reward model


def test_the_reward_is_the_mean_of_the_members_minus_their_disagreement_and_the_last_one_is_the_referee(
    tmp_path: Path,
) -> None:
    model, written = saved_reward_model(tmp_path), rollouts()
    written.ended[:] = [True, False, True]  # as if their last tokens were the end
    reward = open_reward(str(tmp_path), TOKENIZER, device="cpu")
    assert reward.referee is not None
    found, referee = reward(written), reward.referee(written)
    assert (found.dtype, found.requires_grad) == (torch.float32, False)
    assert (found[1].item(), referee[1].item()) == (NO_END, NO_END)
    for row in (0, 2):
        one = written.rows(torch.tensor([row]))
        raw = model(one.token_ids, one.attention_mask, one.loss_mask)[0].tolist()
        first, second, third = (raw[0] - 0.5) / 2, (raw[1] + 1) / 0.5, (raw[2] - 2) / 4
        expected = (first + second) / 2 - 0.25 * abs(first - second) / 2
        assert found[row].item() == pytest.approx(expected, abs=1e-4)
        assert referee[row].item() == pytest.approx(third, abs=1e-4)


def test_a_reward_model_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    words = TokenizerConfig(min_frequency=1)
    saved_reward_model(tmp_path, tokenizer=words)
    for tokenizer in (TOKENIZER, TextTokenizer.train([TEXT.replace("cat", "cow")], words)):
        with pytest.raises(UsageError, match="has another vocabulary than the policy"):
            open_reward(str(tmp_path), tokenizer, device="cpu")
    open_reward(str(tmp_path), TextTokenizer.train([TEXT], words), device="cpu")


def test_a_reward_model_with_a_smaller_window(tmp_path: Path) -> None:
    saved_reward_model(tmp_path, window=16)
    reward = open_reward(str(tmp_path), TOKENIZER, device="cpu")
    written = rollouts(max_tokens=8)
    assert written.token_ids.shape[1] == 17
    with pytest.raises(RewardError, match=r"reads 16 tokens, but prompt and completion have up to 17; lower training"):
        reward(written)
    assert reward(rollouts(max_tokens=7)).shape == (3,)


def test_a_folder_of_another_kind(tmp_path: Path) -> None:
    save_model(tmp_path / "lm", trained_language_model(), card="x")
    (tmp_path / "begun" / "checkpoint").mkdir(parents=True)
    (tmp_path / "begun" / "checkpoint" / "run.json").write_text("{}")
    for name, words in (
        ("lm", "holds a language model; a reward model is needed here"),
        ("lm:good", "holds a language model; a classifier is needed here"),
        ("begun", "holds an unfinished run"),
        ("none", r"there is no .*none; name the folder of a reward model, a classifier's as FOLDER:LABEL, or"),
        ("none:good", "no such model folder"),
        (".", "is not a model folder"),
    ):
        with pytest.raises(UsageError, match=words):
            open_reward(str(tmp_path / name), TOKENIZER, device="cpu")


def test_a_damaged_folder_is_no_misuse(tmp_path: Path) -> None:
    saved_reward_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(GlassformerError, match="cut short or damaged") as caught:
        open_reward(str(tmp_path), TOKENIZER, device="cpu")
    assert not isinstance(caught.value, UsageError)


def test_its_weights_are_its_fingerprint(tmp_path: Path) -> None:
    saved_reward_model(tmp_path)
    first = open_reward(str(tmp_path), TOKENIZER, device="cpu").fingerprint
    weights = (tmp_path / "model.safetensors").read_bytes()
    assert first == hashlib.sha256(weights + SCALE.model_dump_json().encode()).hexdigest(), "and their scale"
    assert open_reward(str(tmp_path), TOKENIZER, device="cpu").fingerprint == first
    saved_reward_model(tmp_path, std=0.3)
    assert open_reward(str(tmp_path), TOKENIZER, device="cpu").fingerprint != first


# A classifier's label


def test_a_labels_reward_is_its_probability(tmp_path: Path) -> None:
    """The label holds a colon, and so may a folder's name."""
    trained = small_trained_model(labels=("bad", "quite: good", "fine"), temperature=1.7)
    save_model(tmp_path / "a:b", trained, card="x")
    tokenizer = TextTokenizer.train(["the plot is thin but i loved it"], TokenizerConfig(min_frequency=1))
    written = rollouts(tokenizer)
    found = open_reward(f"{tmp_path / 'a:b'}:quite: good", tokenizer, device="cpu")(written)
    probs = Predictor(trained).answer(written.texts).probs
    assert found.tolist() == probs[:, 1].tolist()
    assert len(set(found.tolist())) == 3
    weights = (tmp_path / "a:b" / "model.safetensors").read_bytes()
    fingerprint = open_reward(f"{tmp_path / 'a:b'}:quite: good", tokenizer, device="cpu").fingerprint
    assert fingerprint == hashlib.sha256(weights).hexdigest()
    (tmp_path / "a:b" / "counting.safetensors").write_bytes(b"another reader")
    again = open_reward(f"{tmp_path / 'a:b'}:quite: good", tokenizer, device="cpu").fingerprint
    assert again == hashlib.sha256(weights + b"another reader").hexdigest()


def test_a_model_of_a_number_gives_no_probability(tmp_path: Path) -> None:
    trained = small_trained_model(labels=("stars",))
    target = Number(column="stars", scale=Scale(mean=3.0, deviation=2.0, lowest=0.0, highest=5.0))
    trained = replace(trained, config=trained.config.model_copy(update={"target": target}))
    save_model(tmp_path / "m", trained, card="x")
    with pytest.raises(UsageError, match=r"`reward='.*m:stars'` is for models that answer with labels; this one"):
        open_reward(f"{tmp_path / 'm'}:stars", TOKENIZER, device="cpu")


def test_an_unknown_label_lists_the_labels(tmp_path: Path) -> None:
    save_model(tmp_path / "m", small_trained_model(labels=(1, 2, 3)), card="x")
    with pytest.raises(UsageError, match=r"`reward='.*m:4'`: no such label; the classifier has 1, 2, 3"):
        open_reward(f"{tmp_path / 'm'}:4", TOKENIZER, device="cpu")
    for name in (tmp_path / "m", f"{tmp_path / 'm'}:"):
        with pytest.raises(UsageError, match="a classifier's as FOLDER:LABEL"):
            open_reward(str(name), TOKENIZER, device="cpu")
    open_reward(f"{tmp_path / 'm'}:3", TOKENIZER, device="cpu")


# A function


def test_a_function_gets_prompts_with_completions(file: Callable[[str], Path], tmp_path: Path) -> None:
    judge = file(
        "import json\nfrom pathlib import Path\n"
        "def score(texts):\n"
        f"    Path({str(tmp_path / 'seen')!r}).write_text(json.dumps(texts))\n"
        "    return [len(text) for text in texts]\n"
    )
    written = rollouts()
    found = open_reward(f"{judge}:score", TOKENIZER, device="cpu")(written)
    assert found.tolist() == [len(text) for text in written.texts]
    seen = json.loads((tmp_path / "seen").read_text())
    assert [text.startswith(prompt) for text, prompt in zip(seen, PROMPTS, strict=True)] == [True] * 3
    assert seen == [prompt + completion for prompt, completion in zip(PROMPTS, written.completions, strict=True)]


def test_a_functions_file_is_its_fingerprint(file: Callable[[str], Path]) -> None:
    def opened(code: str) -> str:
        return open_reward(f"{file(code)}:score", TOKENIZER, device="cpu").fingerprint

    first = opened("def score(texts): return [1] * len(texts)")
    assert first == hashlib.sha256(b"def score(texts): return [1] * len(texts)").hexdigest()
    assert first != opened("def score(texts): return [2] * len(texts)")


def test_a_file_may_hold_what_any_module_may(file: Callable[[str], Path]) -> None:
    """Such a class asks for the module that it is in."""
    judge = file(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Judge:\n    worth: float = 2.0\n"
        "    def __call__(self, texts: list[str]) -> list[float]:\n        return [self.worth] * len(texts)\n"
        "score = Judge()\n"
    )
    assert open_reward(f"{judge}:score", TOKENIZER, device="cpu")(rollouts()).tolist() == [2, 2, 2]


@pytest.mark.parametrize("when", ["loaded", "called"])
def test_a_file_may_import_what_is_beside_it(
    when: str, file: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it may where Python runs it, wherever the program was started."""
    (tmp_path / f"beside_when_{when}.py").write_text("WORTH = 3")
    line = f"from beside_when_{when} import WORTH\n"
    code = f"def score(texts):\n    {line if when == 'called' else ''}\n    return [WORTH] * len(texts)\n"
    judge = file(line + code if when == "loaded" else code)
    before = list(sys.path)
    monkeypatch.chdir(tmp_path.parent)
    reward = open_reward(f"{judge.relative_to(tmp_path.parent)}:score", TOKENIZER, device="cpu")
    assert reward(rollouts()).tolist() == [3, 3, 3]
    assert sys.path == before


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def other(texts): ...", "the file has no function 'score'"),
        ("score = 3", "the file has no function 'score'"),
        ("import no_such_module", "cannot be run: ModuleNotFoundError: No module named 'no_such_module'"),
        ("def score(texts", "cannot be run: SyntaxError"),
        ("raise ValueError('no')", "cannot be run: ValueError: no"),
        ("import sys\nsys.exit(0)", "cannot be run: SystemExit: 0"),
    ],
)
def test_a_file_that_holds_no_reward(code: str, words: str, file: Callable[[str], Path]) -> None:
    with pytest.raises(UsageError, match=words):
        open_reward(f"{file(code)}:score", TOKENIZER, device="cpu")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("pass", "score gave None; it must return a list with one number"),
        ("return ['good'] * len(texts) * 9", r"gave 'good' where a number belongs, for the text 'the plot.*; it must"),
        ("return 3.0", r"score gave 3\.0; it must return a list"),
        ("import sys; sys.exit(3)", r"score failed in judge\.py, line 1: SystemExit: 3"),
        ("exit(3)", r"score failed in judge\.py, line 1: SystemExit: 3"),
        ("yield 1.0; raise KeyError('plot')", r"score failed in judge\.py, line 1: KeyError: 'plot'"),
        ("raise KeyError('plot')", r"score failed in judge\.py, line 1: KeyError: 'plot'"),
    ],
)
def test_a_file_whose_function_fails(code: str, words: str, file: Callable[[str], Path]) -> None:
    reward = open_reward(f"{file(f'def score(texts): {code}')}:score", TOKENIZER, device="cpu")
    with pytest.raises(RewardError, match=words):
        reward(rollouts())


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "judge.txt").write_text("def score(texts): ...")
    with pytest.raises(UsageError, match=r"judge\.txt is a file; a file with a function must be named \*\.py"):
        open_reward(f"{tmp_path / 'judge.txt'}:score", TOKENIZER, device="cpu")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`reward='.*none\.py:score'`: there is no file .*none\.py"):
        open_reward(f"{tmp_path / 'none.py'}:score", TOKENIZER, device="cpu")
    with pytest.raises(UsageError, match=r"FILE\.py:FUNCTION"):
        open_reward(str(tmp_path / "none.py"), TOKENIZER, device="cpu")


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((1.0, 2.0), "the reward here gave 2 numbers for 3 texts"),
        ((1.0,) * 4, "the reward here gave more than 3 numbers for 3 texts"),
        ((1.0, float("nan"), 2.0), "the reward here gave nan for the text "),
        ((1.0, 2.0, float("-inf")), r"the reward here gave -inf for the text 'it"),
        ((1.0, None, 2.0), "the reward here gave .*must return a list with one number"),
        ((1.0, "much", 2.0), "the reward here gave .*must return a list with one number"),
    ],
)
def test_answers_that_are_no_reward(answers: tuple[Any, ...], words: str) -> None:
    with pytest.raises(RewardError, match=words):
        judged(*answers)


def test_a_function_that_fails() -> None:
    def fails(texts: list[str]) -> list[float]:
        raise KeyError(texts[0][:8])

    with pytest.raises(
        RewardError, match=r"the reward here failed in test_rewards\.py, line \d+: KeyError: 'the plot'"
    ):
        judged_by(fails, "here")(rollouts())
    for nothing in (None, 3.0):
        with pytest.raises(RewardError, match=f"the reward here gave {nothing}; it must return a list"):
            judged_by(lambda _, found=nothing: found, "here")(rollouts())  # type: ignore[misc]


def test_every_kind_of_number_is_taken() -> None:
    assert judged(1, np.float32(0.5), np.int64(-2)).tolist() == [1, 0.5, -2]
    assert judged(True, torch.tensor(0.25), np.float64(3)).tolist() == [1, 0.25, 3]
    for found in (np.array([1.5, 2, 3]), torch.tensor([1.5, 2, 3]), (1.5, 2, 3)):
        assert judged_by(lambda _, found=found: found, "here")(rollouts()).tolist() == [1.5, 2, 3]  # type: ignore[misc]
