"""Reward functions print, return or raise anything.

The command always answers in one sentence.
"""

import textwrap
from pathlib import Path

import pytest

from glassformer.prediction.model_folder import save_model
from tests.attacks.answer import answered, harmless, nothing_lost
from tests.cli.terminal import Outcome, glassformer
from tests.prediction.language import trained_language_model

FEW = {"updates": 1, "batch_size": 4, "minibatch_size": 4, "max_tokens": 3, "held_out_completions": 3}
ROUNDS = ("--device", "cpu", *(word for name, value in FEW.items() for word in ("--set", f"training.{name}={value}")))


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy") / "lm"
    save_model(folder, trained_language_model(), card="x")
    (folder.parent / "prompts.txt").write_text("the plot\nit\n")
    return folder


def steered(policy: Path, folder: Path, code: str, *more: str) -> Outcome:
    """`align rl` by the function `score` of a file with this code."""
    (folder / "judge.py").write_text(textwrap.dedent(code))
    return glassformer(
        "align", "rl", policy, "--reward", f"{folder / 'judge.py'}:score", "--prompts", policy.parent / "prompts.txt",
        "--out", folder / "out", *ROUNDS, *more,
    )  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("def score(texts):\n    print('hello', texts)\n    return [len(t) for t in texts]", id="called"),
        pytest.param("print('hello')\ndef score(texts): return [len(t) for t in texts]", id="imported"),
        pytest.param("def score(texts):\n    for t in texts: print('hello'); yield len(t)", id="generator"),
    ],
)
def test_what_a_reward_prints_is_no_part_of_the_json(code: str, policy: Path, tmp_path: Path) -> None:
    outcome = steered(policy, tmp_path, code, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["model"] == str(tmp_path / "out")
    assert "hello" in outcome.err
    harmless(outcome)


OF_ANOTHER_KIND = {
    "nothing": ("pass", "gave None; it must return a list"),
    "one-number": ("return 3.0", "gave 3.0; it must return a list"),
    "a-text": ("return '1234567'", "gave '1234567'; it must return a list"),
    "texts": ("return ['1'] * len(texts)", "gave '1' where a number belongs"),
    "by-text": ("return {n: 1.0 for n, _ in enumerate(texts)}", "it must return a list"),
    "a-set": ("return {1.0, 2.0, 3.0}", "it must return a list"),
    "none-inside": ("return [None] * len(texts)", "gave None where a number belongs"),
    "complex": ("return [1j] * len(texts)", "gave 1j where a number belongs"),
    "lists": ("return [[1.0]] * len(texts)", "gave [1.0] where a number belongs"),
    "table": ("import numpy; return numpy.ones((len(texts), 2))", "gave array([1., 1.]) where a number belongs"),
    "no-axis": ("import numpy; return numpy.array(1.0)", "gave array(1.); it must return a list"),
    "nan": ("return [float('nan')] * len(texts)", "gave nan for the text"),
    "infinite": ("return [-float('inf')] * len(texts)", "gave -inf for the text"),
    "long-integer": ("return [10**400] * len(texts)", "a reward is a finite number of up to 3.4e+38"),
    "unwritable-integer": ("return [10**5000] * len(texts)", "gave a value of type int for the text"),
    "more-than-float32": ("return [1e300] * len(texts)", "gave 1e+300 for the text"),
    "too-few": ("return [1.0] * (len(texts) - 1)", "gave 2 numbers for 3 texts"),
    "far-too-many": ("return [1.0] * 10**6", "gave more than 3 numbers for 3 texts"),
    "no-end": ("import itertools; return itertools.repeat(1.0)", "gave more than 3 numbers for 3 texts"),
    "generator-without-end": ("\n    while True: yield 1.0", "gave more than 3 numbers for 3 texts"),
    "a-type": ("return int", "gave <class 'int'>; it must return a list"),
    "clears-its-texts": ("texts.clear(); return []", "gave 0 numbers for 3 texts"),
}
RAISED = {
    "exception": ("raise KeyError('plot')", "failed in judge.py, line 1: KeyError: 'plot'"),
    "long-message": ("raise ValueError('x y ' * 10**6)", "failed in judge.py, line 1: ValueError: x y"),
    "exit": ("import sys; sys.exit(0)", "failed in judge.py, line 1: SystemExit: 0"),
    "recursion": ("return score(texts)", "failed in judge.py, line 1: RecursionError"),
    "memory": ("raise MemoryError", "failed in judge.py, line 1: MemoryError"),
    "generator": ("yield 1.0; raise KeyError('plot')", "failed in judge.py, line 1: KeyError: 'plot'"),
    "asks-the-keyboard": ("return [float(input()) for _ in texts]", "EOFError"),
    "base-exception": ("raise BaseException('end')", "failed in judge.py, line 1: BaseException: end"),
    "takes-no-texts": ("return score()", "failed in judge.py, line 1: TypeError"),
}


@pytest.mark.parametrize(
    ("body", "words"),
    [pytest.param(*case, id=name) for name, case in (OF_ANOTHER_KIND | RAISED).items()],
)
def test_a_function_that_gives_no_rewards(body: str, words: str, policy: Path, tmp_path: Path) -> None:
    with nothing_lost(policy):
        outcome = steered(policy, tmp_path, f"def score(texts): {body}", "--json")
    answered(outcome, "judge.py:score", words, code=1)
    assert not (tmp_path / "out").exists(), "nothing was learned, so nothing is left that could be resumed"


def test_the_text_that_a_function_failed_on_is_named(policy: Path, tmp_path: Path) -> None:
    code = "def one(text):\n    return 1 / 0\ndef score(texts): return [one(text) for text in texts]"
    words = (
        "failed in judge.py, line 2 on the text '",
        "': ZeroDivisionError: division by zero. Nothing was learned yet",
    )
    answered(steered(policy, tmp_path, code), *words, code=1)


UNWRITABLE = """
class Odd(list):
    def __repr__(self): raise ValueError
    def __float__(self): raise KeyError
class Mute(Exception):
    def __str__(self): raise ValueError
def score(texts):
    {}
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param("return Odd()", "gave 0 numbers for 3 texts", id="list"),
        pytest.param("return [Odd()] * 3", "where a number belongs", id="number"),
        pytest.param("raise Mute", "Mute: an error whose message cannot be read", id="error"),
    ],
)
def test_values_that_cannot_be_shown(body: str, words: str, policy: Path, tmp_path: Path) -> None:
    answered(steered(policy, tmp_path, UNWRITABLE.format(body)), words, code=1)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param("raise ValueError('x y ' * 10**6)", "cannot be run: ValueError: x y", id="raises"),
        pytest.param("import sys\nsys.exit(0)", "cannot be run: SystemExit: 0", id="exits"),
        pytest.param("def load(): return load()\nload()", "cannot be run: RecursionError", id="recursion"),
        pytest.param("raise BaseException", "cannot be run: BaseException", id="base-exception"),
        pytest.param("def score(texts", "cannot be run: SyntaxError", id="syntax"),
        pytest.param("score = '\0'\0", "cannot be run: SyntaxError", id="null-byte"),
        pytest.param("(" * 300, "cannot be run: SyntaxError", id="nested"),
        pytest.param("score = 3", "the file has no function 'score'", id="no-function"),
        pytest.param("def __getattr__(name): raise KeyError(name)", "cannot be run: KeyError", id="getattr"),
    ],
)
def test_a_file_that_cannot_be_run(code: str, words: str, policy: Path, tmp_path: Path) -> None:
    answered(steered(policy, tmp_path, code), "judge.py", words)
    assert not (tmp_path / "out").exists()


def test_true_and_false_are_one_and_nothing(policy: Path, tmp_path: Path) -> None:
    outcome = steered(policy, tmp_path, "def score(texts): return ['e' in text for text in texts]")
    assert outcome.code == 0, outcome.err
