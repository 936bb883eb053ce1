"""The rewards of a policy: a reward model, the probability of a classifier's label, or any function of texts."""

import hashlib
import importlib.util
import math
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, redirect_stdout, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.alignment.judged import Reward, raw_rewards
from glassformer.alignment.reward_names import apart, check_reward
from glassformer.alignment.rollouts import Rollouts
from glassformer.data.tokenizers import TextTokenizer
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, UsageError, brief_value, quoted
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.folder_format import format_of
from glassformer.prediction.model_folder import REWARD_MODEL, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting import reader as counting
from glassformer.targets.labels.target import labels_of

Judge = Callable[[list[str]], Sequence[float]]
"""A function that takes whole texts, prompts included, and returns one number for each. Higher is better."""


_WANTED = "it must return a list with one number for each text"
_LARGEST = torch.finfo(torch.float32).max
_LONGEST_ERROR = 200
NO_END = -4.0
"""The reward of a completion without an end, in standard deviations of the start model's rewards."""


class RewardError(GlassformerError):
    """The reward failed, or gave something that is not a finite number."""


def open_reward(name: str, tokenizer: TextTokenizer, *, device: str) -> Reward:
    """Open the reward that `name` stands for.

    The name is the FOLDER of a reward model, the FOLDER:LABEL of a classifier, or FILE.py:FUNCTION. Only the last of
    these runs code, which is the user's own.

    The reward's fingerprint is the SHA-256 of the weights and their scale, or of the Python file. It does not cover
    what that file reads or imports.

    Raises:
        UsageError: the folder, label, file or function does not exist, or a reward model has another vocabulary than
            the policy.
        GlassformerError: a folder is damaged.
    """
    if Path(name).is_dir() and format_of(Path(name)) != FolderConfig.formats["labels"]:
        return _reward_model(Path(name), tokenizer, device)
    place, what = check_reward(name)
    judge = _function(Path(place), what) if place.endswith(".py") else _probability_of(Path(place), what, device)
    return Reward(judge=judged_by(judge, name), fingerprint=_fingerprint(Path(place)))


def _fingerprint(place: Path, more: str = "") -> str:
    files = [place / "model.safetensors", place / counting.WEIGHTS_FILE] if place.is_dir() else [place]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file()) + more.encode()).hexdigest()


def judged_by(judge: Judge, name: str) -> Callable[[Rollouts], Tensor]:
    """Make a reward of a function of whole texts, and check each number that it returns.

    Raises (the reward, when it is called):
        RewardError: the function raises, the number of results differs from the number of texts, or a result is not
            finite.
    """

    def reward(rollouts: Rollouts) -> Tensor:
        texts = rollouts.texts
        try:
            with redirect_stdout(sys.stderr):  # only the command itself writes to standard output
                answer = judge(list(texts))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the user's function may raise anything, SystemExit too
            places = traceback.extract_tb(error.__traceback__)
            own = Path(apart(name)[0]).resolve()  # name a line of the user's file rather than of a module it calls
            named = [place for place in places if Path(place.filename).resolve() == own]
            place = (named or places)[-1]
            where = f"{Path(place.filename).name}, line {place.lineno}{_on(error, own, texts)}"
            raise RewardError(f"the reward {name} failed in {where}: {_raised(error)}") from error
        try:
            values = _values(answer, at_most=len(texts) + 1)
        except Exception as error:
            raise RewardError(f"the reward {name} gave {brief_value(answer)}; {_WANTED}") from error
        found = torch.tensor([_number(value, text, name) for value, text in zip(values, texts, strict=False)])
        if len(values) != len(texts):
            count = f"{len(values):,}" if len(values) < len(texts) else f"more than {len(texts):,}"
            raise RewardError(f"the reward {name} gave {count} numbers for {counted(len(texts), 'text')}")
        return found

    return reward


def _on(error: BaseException, own: Path, texts: Sequence[str]) -> str:
    """Return which text a function of the file had in a variable when it failed, if any."""
    held = [
        value
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if Path(frame.f_code.co_filename).resolve() == own
        for value in frame.f_locals.values()
        if type(value) is str and value in texts
    ]
    return f" on the text {quoted(held[-1])}" if held else ""


def _values(answer: Any, *, at_most: int) -> list[Any]:
    """Return the first `at_most` values of an answer, which may be endless.

    Raises:
        TypeError: the answer has no order, or is a text. Errors of its iterator pass through.
    """
    if isinstance(answer, (str, bytes, Mapping, Set)):
        raise TypeError
    return list(islice(iter(answer), at_most))


def _number(value: Any, text: str, name: str) -> float:
    """Return the value as a float."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except OverflowError:
        number = math.inf
    except Exception as error:
        raise RewardError(
            f"the reward {name} gave {brief_value(value)} where a number belongs, for the text {text[:200]!r}; "
            f"{_WANTED}"
        ) from error
    if not abs(number) <= _LARGEST:
        raise RewardError(
            f"the reward {name} gave {brief_value(value)} for the text {text[:200]!r}; a reward is a finite number of "
            f"up to {_LARGEST:.1e}"
        )
    return number


def _raised(error: BaseException) -> str:
    """Return an error's type and the beginning of its message."""
    try:
        said = textwrap.shorten(str(error), _LONGEST_ERROR, placeholder=" …")
    except Exception:
        said = "an error whose message cannot be read"
    return f"{type(error).__name__}: {said}"


def _reward_model(folder: Path, tokenizer: TextTokenizer, device: str) -> Reward:
    trained = load_model(folder, REWARD_MODEL)
    if trained.tokenizer.vocabulary() != tokenizer.vocabulary():
        raise UsageError(
            f"`reward={str(folder)!r}`: this reward model has another vocabulary than the policy; train it from the "
            "same language model (glassformer align reward)"
        )
    model = trained.model.to(device)
    window, scale = trained.config.model.max_seq_len, trained.config.scale

    def standardised(rollouts: Rollouts) -> Float[Tensor, "batch members"]:
        longest = rollouts.token_ids.shape[1]
        if longest > window:
            raise RewardError(
                f"the reward model {folder} reads {window:,} tokens, but prompt and completion have up to {longest:,}; "
                "lower training.max_tokens"
            )
        raw = raw_rewards(model, rollouts)
        units = (raw - raw.new_tensor(scale.means)) / raw.new_tensor(scale.deviations)
        return units.where(torch.tensor(rollouts.ended, device=units.device)[:, None], NO_END)

    def judge(rollouts: Rollouts) -> Tensor:
        members = standardised(rollouts)
        members = members[:, :-1] if has_referee else members
        return members.mean(dim=1) - scale.disagreement * members.std(dim=1, correction=0)

    has_referee = len(scale.means) > 1
    return Reward(
        judge=judge,
        referee=(lambda rollouts: standardised(rollouts)[:, -1]) if has_referee else None,
        fingerprint=_fingerprint(folder, scale.model_dump_json()),
    )


def _probability_of(folder: Path, label: str, device: str) -> Judge:
    name = f"{folder}:{label}"
    if folder.is_file():
        raise UsageError(f"`reward={name!r}`: {folder} is a file; a file with a function must be named *.py")
    predictor = Predictor.load(folder, device=device)
    target = predictor.trained.config.target
    target.check_labels(f"`reward={name!r}`")
    labels = [str(known) for known in labels_of(target).labels]
    if label not in labels:
        raise UsageError(f"`reward={name!r}`: no such label; the classifier has {', '.join(labels)}")
    column = labels.index(label)

    def judge(texts: list[str]) -> list[float]:
        return predictor.answer(texts).probs[:, column].tolist()

    return judge


def _function(file: Path, name: str) -> Judge:
    folder = file.resolve().parent
    spec = importlib.util.spec_from_file_location("__reward__", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module there
    try:
        with _importable(folder), redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
            found: Any = getattr(module, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's file may raise anything, SystemExit too
        raise UsageError(f"`reward={f'{file}:{name}'!r}`: the file cannot be run: {_raised(error)}") from error
    if not callable(found):
        raise UsageError(f"`reward={f'{file}:{name}'!r}`: the file has no function {name!r}")

    def judge(texts: list[str]) -> Sequence[float]:
        with _importable(folder):
            answer = found(texts)
            if isinstance(answer, Iterator):  # it runs code of the file too, and may be endless
                return list(islice(answer, len(texts) + 1))
            return answer  # its values are checked later

    return judge


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let modules of the folder be imported, as when Python runs a file in it."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the file may have removed it already
            sys.path.remove(str(folder))
