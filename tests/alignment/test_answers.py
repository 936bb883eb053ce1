"""The exact judge of answers, and figures of what a model writes."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from glassformer.alignment.answers import before_and_after, compare_answers, exact_verdicts, measure_answers
from glassformer.alignment.judged import Reward
from glassformer.alignment.rollouts import Rollouts
from tests.alignment.samples import WINDOW, start
from tests.prediction.language import byte_tokenizer, random_model


def verdicts(prompt: str, answer: str, *, ended: bool = True) -> dict[str, list[bool]]:
    rollouts = SimpleNamespace(prompts=[prompt], completions=[answer], ended=[ended])
    return exact_verdicts(cast(Rollouts, rollouts))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (" the acting is truly superb, all in all", (True, True, True)),
        (" the acting is very dull, to be honest", (True, True, False)),
        (" the plot is truly superb, all in all", (True, False, True)),
        (" nobody could say that the acting is not truly superb, all in all", (True, True, True)),
        (" the acting is truly superb, all in all, and the plot is very dull, to be honest", (False, True, False)),
        (" the acting is truly superb, all in", (False, True, False)),
        (" instead of being truly dull, all in all", (False, False, False)),
        (" the", (False, False, False)),
        ("", (False, False, False)),
    ],
)
def test_what_the_grammar_says(answer: str, expected: tuple[bool, bool, bool]) -> None:
    found = verdicts("how is the acting?", answer)
    assert (found["well_formed"], found["about"], found["favourable"]) == tuple([right] for right in expected)


def test_a_cut_off_answer_is_not_well_formed() -> None:
    found = verdicts("how is the acting?", " the acting is truly superb, all in all", ended=False)
    assert found == {"well_formed": [False], "about": [True], "favourable": [False]}


def test_other_prompts_have_no_exact_judge() -> None:
    assert verdicts("how is the weather?", " the acting is truly superb, all in all") == {}


def test_the_figures_of_a_model() -> None:
    tokenizer = byte_tokenizer()
    model = random_model(tokenizer.vocab_size, max_seq_len=WINDOW)
    around: dict[str, Any] = {"count": 40, "max_tokens": 6, "max_seq_len": WINDOW, "seed": 3}
    reward = Reward(judge=lambda r: torch.tensor([float(len(c)) for c in r.completions]), fingerprint="")
    found = measure_answers(model, tokenizer, ["it", "how is"], start=model, reward=reward, **around)
    assert found == measure_answers(model, tokenizer, ["it", "how is"], start=model, reward=reward, **around)
    assert found["kl"]["value"] == pytest.approx(0, abs=1e-5), "it is its own start"
    assert found["start_logprob"]["value"] < 0
    assert 1 <= found["length"]["value"] <= 6
    assert 0 <= found["ended"]["low"] <= found["ended"]["value"] <= found["ended"]["high"] <= 1
    assert "referee" not in found
    assert "well_formed" not in found


def test_before_and_after_in_a_line() -> None:
    begins = start()
    found = compare_answers(begins.trained.model, begins, ["it", "it is"], max_tokens=6, seed=0)
    assert found["before"] == found["after"], "the same model with the same seed"
    said = before_and_after(found["before"], found["after"])
    assert said.startswith("ended by themselves: ")
    assert " → " in said
    assert compare_answers(begins.trained.model, begins, ["x" * WINDOW], max_tokens=6, seed=0) == {}, "no prompt fits"
