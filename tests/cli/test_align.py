import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.documents import Documents, read_documents
from glassformer.models.model_config import LANGUAGE_PRESETS
from glassformer.prediction.model_folder import save_model
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import PretrainingRecipe, PretrainingTokenizerConfig
from glassformer.training.training_config import PretrainingConfig
from tests.cli.terminal import Outcome, ctrl_c, failed, glassformer, misused
from tests.prediction.language import SMALL, trained_language_model
from tests.trained import Trained, keep_lines, write_csv

SHORT = ("--device", "cpu", "--set", "training.max_steps=3")
FEW: dict[str, int] = {
    "updates": 1, "batch_size": 8, "minibatch_size": 8, "max_tokens": 6, "held_out_completions": 4, "evaluate_every": 1,
}  # fmt: skip
ROUND = ("--device", "cpu", *(word for name, value in FEW.items() for word in ("--set", f"training.{name}={value}")))
ROUNDS = (*ROUND, "--set", "training.updates=2")
SCORE = "def score(texts):\n    return [len(text) for text in texts]\n"


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The folders of the whole path, and what each command said."""

    folder: Path
    said: dict[str, Outcome]

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model that has seen a few opinions."""
    out = tmp_path_factory.mktemp("base") / "lm"
    texts = read_documents("polarity").texts.head(300)
    recipe = PretrainingRecipe(
        model=LANGUAGE_PRESETS["tiny"],
        tokenizer=PretrainingTokenizerConfig(kind="word", vocab_size=200),
        training=PretrainingConfig(max_steps=5, batch_size=8, precision="float32"),
    )
    pretrain(Documents(texts=texts, source="polarity"), recipe, out=out)
    return out


@pytest.fixture(scope="module")
def stages(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Stages:
    """From a language model to two that were steered."""
    folder = tmp_path_factory.mktemp("path")
    records, preferences = folder / "records" / "pairs.jsonl", folder / "records" / "preferences.jsonl"
    pairs = glassformer("align", "pairs", "polarity", "--chosen", "positive", "--out", folder / "records")
    for file in (records, preferences):
        keep_lines(file, 100)
    said = {
        "pairs": pairs,
        "sft": glassformer("align", "sft", base, records, "--out", folder / "sft", *SHORT),
        "reward": glassformer("align", "reward", folder / "sft", preferences, "--out", folder / "reward", *SHORT),
    }
    for algorithm in ("ppo", "grpo"):
        said[algorithm] = glassformer(
            "align", "rl", folder / "sft", "--reward", folder / "reward", "--algorithm", algorithm,
            "--out", folder / algorithm, *ROUNDS,
        )  # fmt: skip
    return Stages(folder=folder, said=said)


def documents(outcome: Outcome) -> Any:
    assert outcome.code == 0, outcome.err
    return outcome.document


def test_from_a_table_to_a_steered_model(stages: Stages) -> None:
    for outcome in stages.said.values():
        assert outcome.code == 0, outcome.err
        assert "Traceback" not in outcome.err
        assert outcome.out.count("\n") in (1, 2)
    assert "4,000 prompts with their completions" in stages.said["pairs"].out
    assert "preferences, 'positive' over the other" in stages.said["pairs"].out
    assert " on held-out completions; trained in" in stages.said["sft"].out
    assert "held out\nmodel: " in stages.said["sft"].err
    assert "on held-out pairs accuracy " in stages.said["reward"].out
    for algorithm in ("ppo", "grpo"):
        said = stages.said[algorithm]
        assert f"policy: {stages / 'sft'}" in said.err
        assert f"prompts of {stages / 'records' / 'pairs.jsonl'}; reward: {stages / 'reward'}; " in said.err
        assert f"; 2 rounds of {algorithm}, on cpu" in said.err
        assert "pre-trained only" not in said.err
        assert "round 0: on its prompts reward " in said.err
        assert ", the referee's " in said.err
        assert "round 2: on its prompts reward " in said.err
        assert "of 40 answers, before → after: well formed: " in said.out
        assert f"next: glassformer generate {stages / algorithm} PROMPT" in said.err
        assert json.loads((stages / algorithm / "config.json").read_text())["recipe"]["algorithm"] == algorithm
    assert f"next: glassformer generate {stages / 'sft'} 'how is the " in stages.said["sft"].err
    assert f"next: glassformer align rl {stages / 'sft'} --reward {stages / 'reward'} " in stages.said["reward"].err
    written = glassformer("generate", stages / "grpo", "how is the", "--device", "cpu", "--json")
    assert written.code == 0, written.err


def test_json_is_one_document(base: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [(f"a b c {n}", "yn"[n % 2]) for n in range(24)])
    command = ("align", "pairs", table, "--chosen", "y", "--out", tmp_path / "r", "--prompt-words", 2, "--json")
    assert documents(glassformer(*command)) == {
        "out": str(tmp_path / "r"), "pairs": 24, "preferences": 12, "too_short": 0, "without_partner": 0
    }  # fmt: skip
    made = glassformer("align", "sft", base, tmp_path / "r/pairs.jsonl", "--out", tmp_path / "s", *SHORT, "--json")
    document = documents(made)
    assert document["model"] == str(tmp_path / "s")
    assert document["best"] in document["history"]
    records = tmp_path / "r/preferences.jsonl"
    document = documents(glassformer("align", "reward", base, records, "--out", tmp_path / "w", *SHORT, "--json"))
    assert document["best"]["validation_accuracy"] >= 0
    document = documents(
        glassformer("align", "rl", base, "--reward", tmp_path / "w", "--out", tmp_path / "p", *ROUNDS, "--json")
    )
    assert document.keys() == {"model", "best_update", "best", "collapsed", "signs", "answers", "history"}
    assert [row["update"] for row in document["history"]] == [0, 1, 2]


@pytest.mark.parametrize("name", ["pairs.jsonl", "preferences.jsonl"])
def test_records_that_are_there_are_replaced_on_request_alone(name: str, tmp_path: Path) -> None:
    """A request that fails later, at its label, shows that it is refused before the table is read."""
    table = write_csv(tmp_path / "t.csv", [(f"a b c {n}", "yn"[n % 2]) for n in range(24)])
    file = tmp_path / "r" / name
    file.parent.mkdir()
    file.write_text("by hand\n")
    command = ("align", "pairs", table, "--out", tmp_path / "r", "--prompt-words", 2)
    misused(glassformer(*command, "--chosen", "x"), f"{file} is already there; choose another --out, or --overwrite")
    assert [path.name for path in file.parent.iterdir()] == [name]
    assert file.read_text() == "by hand\n"
    assert glassformer(*command, "--chosen", "y", "--overwrite").code == 0
    assert "by hand" not in file.read_text()
    assert len(list(file.parent.iterdir())) == 2


def test_a_reward_model_is_named_where_another_is_needed(stages: Stages, tmp_path: Path) -> None:
    reward, records = stages / "reward", stages / "records" / "pairs.jsonl"
    for command in (
        ("generate", reward, "how"),
        ("align", "sft", reward, records, "--out", tmp_path / "m"),
        ("align", "reward", reward, records, "--out", tmp_path / "m"),
        ("align", "rl", reward, "--reward", reward, "--out", tmp_path / "m"),
    ):
        misused(glassformer(*command), f"{reward} holds a reward model; a language model is needed here")
    misused(glassformer("predict", reward, "how"), f"{reward} holds a reward model; a classifier is needed here")
    assert not (tmp_path / "m").exists()


def test_a_classifiers_label_as_the_reward(base: Path, reviews: Trained, tmp_path: Path) -> None:
    command = ("align", "rl", base, "--out", tmp_path / "m", *ROUND)
    said = glassformer(*command, "--reward", f"{reviews.folder}:very good")
    assert said.code == 0, said.err
    assert f"policy: {base}, the empty prompt (name others with --prompts); reward: {reviews.folder}:very" in said.err
    assert f"warning: {base} was pre-trained only, so it continues texts" in said.err
    assert f"Fine-tune it before align rl: glassformer align sft {base} RECORDS --out FOLDER" in said.err
    assert said.err.endswith(f"next: glassformer generate {tmp_path / 'm'}\n")
    assert "Learned from the empty prompt, starting from" in (tmp_path / "m" / "README.md").read_text()
    assert "on its prompts" in said.err
    misused(
        glassformer(*command, "--overwrite", "--reward", f"{reviews.folder}:best"), "the classifier has not, good, very"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pairs", "polarty", "--chosen", "positive", "--out", "OUT"], ["Did you mean 'polarity'?"]),
        (["pairs", "polarity", "--chosen", "good", "--out", "OUT"], ["--chosen good", "negative, positive"]),
        (
            ["pairs", "TABLE", "--chosen", "y", "--out", "OUT"],
            ["begin with the same 3 words", "smaller --prompt-words"],
        ),
        (["pairs", "polarity", "--chosen", "positive", "--out", "TABLE"], ["is a file"]),
        (["sft", "none", "PAIRS", "--out", "OUT"], ["none: no such model folder"]),
        (["sft", "BASE", "pears.jsonl", "--out", "OUT"], ["No such file: pears.jsonl"]),
        (["sft", "BASE", "TABLE", "--out", "OUT"], ["table.csv, line 1: not readable as JSON"]),
        (["sft", "BASE", "PAIRS", "--out", "OUT", "--set", "training.epoch=1"], ["did you mean training.epochs?"]),
        (
            ["sft", "BASE", "PAIRS", "--out", "OUT", "--set", "training.epochs=no"],
            ["training.epochs=no:", "whole number"],
        ),
        (["sft", "BASE", "PAIRS", "--out", "OUT", "--seed", "-1"], ["--seed -1"]),
        (["sft", "BASE", "PAIRS", "--out", "OUT", "--device", "abacus"], ["--device abacus"]),
        (["sft", "BASE", "PAIRS", "--out", "OUT", "--resume"], ["no unfinished run"]),
        (
            ["sft", "BASE", "PAIRS", "--out", "OUT", "--resume", "--overwrite"],
            ["--resume and --overwrite contradict each other"],
        ),
        (
            ["rl", "BASE", "--reward", "JUDGE", "--out", "OUT", "--resume", "--overwrite"],
            ["--resume and --overwrite contradict each other"],
        ),
        (
            ["rl", "BASE", "--reward", "JUDGE", "--out", "OUT", "--set", "training.clip=nan"],
            ["--set training.clip=nan: it must be a number"],
        ),
        (
            ["rl", "BASE", "--reward", "JUDGE", "--out", "OUT", "--set", "training.nope=1"],
            ["training.nope does not exist here. There are:", "training.seed,", "training.value_clip"],
        ),
        (["sft", "BASE", "PAIRS", "--out", "BASE"], ["this run reads", "name another folder"]),
        (["sft", "BASE", "PAIRS", "--out", "OUT", "--set", "training.freeze=9"], ["training.freeze = 9"]),
        (["reward", "BASE", "PAIRS", "--out", "OUT"], ["pairs.jsonl, line 1", 'there is no "chosen"']),
        (["rl", "BASE", "--reward", "none", "--out", "OUT"], ["there is no none", "FOLDER:LABEL", "FILE.py:FUNCTION"]),
        (["rl", "BASE", "--reward", "none.py:score", "--out", "OUT"], ["there is no file none.py"]),
        (["rl", "BASE", "--reward", "BASE:good", "--out", "OUT"], ["holds a language model; a classifier"]),
        (
            ["rl", "BASE", "--reward", "JUDGE", "--out", "OUT", "--algorithm", "dpo"],
            ["--algorithm dpo", "ppo and grpo"],
        ),
        (["rl", "BASE", "--reward", "JUDGE", "--out", "OUT", "--set", "training.beta=-1"], ["training.beta=-1"]),
        (
            ["rl", "BASE", "--reward", "JUDGE", "--out", "OUT", "--set", "training.max_tokens=128"],
            ["leaves no room for max_tokens = 128 in the window of 128"],
        ),
        (
            [
                "rl",
                "BASE",
                "--algorithm",
                "grpo",
                "--reward",
                "JUDGE",
                "--out",
                "OUT",
                "--set",
                "training.group_size=3",
            ],
            ["batch_size must be a multiple of group_size, got batch_size = 128, group_size = 3"],
        ),
        (["rl", "BASE", "--reward", "JUDGE", "--out", "OUT", "--prompts", "EMPTY"], ["empty.txt holds no prompt"]),
    ],
)
def test_a_request_that_cannot_be_met(arguments: list[str], words: list[str], base: Path, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(SCORE)
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "a", "completion": "b"}\n')
    named = {
        "OUT": tmp_path / "out", "BASE": base, "PAIRS": tmp_path / "pairs.jsonl", "JUDGE": f"{tmp_path}/judge.py:score",
        "EMPTY": tmp_path / "empty.txt", "BASE:good": f"{base}:good",
        "TABLE": write_csv(tmp_path / "table.csv", [(f"{n} a b c", "yn"[n % 2]) for n in range(20)]),
    }  # fmt: skip
    misused(glassformer("align", *(named.get(argument, argument) for argument in arguments)), *words)
    assert not (tmp_path / "out").exists()


def test_a_policy_that_fills_in_is_the_fault_whatever_the_reward(tmp_path: Path) -> None:
    both_ways = trained_language_model(model=SMALL.model_copy(update={"attention": "full"}))
    save_model(tmp_path / "masked", both_ways, card="")
    command = ("align", "rl", tmp_path / "masked", "--reward", f"{tmp_path}:x", "--out", tmp_path / "out")
    misused(glassformer(*command), "masked: a causal model of our own design is needed")


def test_a_stopped_fine_tuning_goes_on(base: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(f'{{"prompt": "{n}", "completion": "good"}}\n' for n in range(40)))
    command = ("align", "sft", base, pairs, *SHORT, "--out")
    assert glassformer(*command, tmp_path / "whole").code == 0
    with ctrl_c(step=1):
        stopped = glassformer(*command, tmp_path / "m")
    assert (stopped.code, stopped.out) == (130, "")
    assert f"stopped; the run is saved in {tmp_path / 'm'}. Continue it with:\n  glassformer align sft" in stopped.err
    assert stopped.err.endswith("--resume\n")
    misused(glassformer(*command, tmp_path / "m"), "holds an unfinished run")
    misused(glassformer("generate", tmp_path / "m", "a"), "holds an unfinished run")
    misused(glassformer(*command, tmp_path / "m", "--resume", "--seed", 3), "training.seed was 0 and is now 3")
    resumed = glassformer(*command, tmp_path / "m", "--resume")
    assert resumed.code == 0, resumed.err
    assert "resumed at step 2" in resumed.err
    assert _weights(tmp_path / "m") == _weights(tmp_path / "whole")


def _weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_stopped_run_of_rl_goes_on_and_so_does_one_whose_reward_failed(base: Path, tmp_path: Path) -> None:
    judge, prompts = tmp_path / "judge.py", tmp_path / "prompts.txt"
    prompts.write_text("\n".join(f"how is the {word}?" for word in "abcdefghijkl"))
    command = (
        "align", "rl", base, "--reward", f"{judge}:score", "--prompts", prompts, *ROUNDS,
        "--seed", "2", "--set", "training.beta=0.01", "--set", "training.target_kl=none", "--out",
    )  # fmt: skip
    judge.write_text(SCORE)
    assert glassformer(*command, tmp_path / "whole").code == 0

    third = f"from pathlib import Path\ncalls = Path({str(tmp_path / 'calls')!r})\n"
    third += "def score(texts):\n    count = int(calls.read_text()) + 1 if calls.exists() else 1\n"
    third += (
        "    calls.write_text(str(count))\n    if count == 2:\n        WHEN\n    return [len(text) for text in texts]\n"
    )
    judge.write_text(third.replace("WHEN", "import signal; signal.raise_signal(signal.SIGINT)"))
    stopped = glassformer(*command, tmp_path / "m")
    assert (stopped.code, stopped.out) == (130, "")
    assert "Continue it with:\n  glassformer align rl" in stopped.err
    assert "Traceback" not in stopped.err

    (tmp_path / "calls").unlink()
    judge.write_text(third.replace("WHEN", "return [float('nan')] * len(texts)"))
    resume = (*command, tmp_path / "m", "--resume")
    failed(glassformer(*resume), "gave nan for the text 'how is the", f"The run is saved in {tmp_path / 'm'}")
    judge.write_text(SCORE)
    misused(glassformer(*resume, "--reward", f"{judge}:other"), "no function 'other'")
    resumed = glassformer(*resume)
    assert resumed.code == 0, resumed.err
    assert _weights(tmp_path / "m") == _weights(tmp_path / "whole")
    assert not (tmp_path / "m" / "checkpoint").exists()


def test_a_collapse_is_a_warning_and_leaves_a_model(base: Path, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(SCORE)
    command = ("align", "rl", base, "--reward", f"{tmp_path / 'judge.py'}:score", *ROUND, "--out")
    said = glassformer(*command, tmp_path / "m", "--set", "training.least_entropy=99")
    assert said.code == 0, said.err
    assert "warning: stopped in round 1: the choice of a token has an entropy of" in said.err
    assert "no policy had a higher reward than the starting one, which is kept; in" in said.out
    assert glassformer("generate", tmp_path / "m", "it", "--device", "cpu").code == 0


def test_a_run_that_kept_its_start_says_what_a_nat_cost(base: Path, tmp_path: Path) -> None:
    """Where all texts are worth the same, no nat buys anything."""
    (tmp_path / "judge.py").write_text("def score(texts):\n    return [1.0] * len(texts)\n")
    command = ("align", "rl", base, "--reward", f"{tmp_path / 'judge.py'}:score", *ROUNDS, "--out", tmp_path / "m")
    fixed = ("--set", "training.beta=0.4", "--set", "training.target_kl=none", "--set", "training.most_kl=99")
    said = glassformer(*command, "--set", "training.learning_rate=0.1", *fixed)
    assert said.code == 0, said.err
    assert "which is kept (the KL penalty beta is 0.4; with --set training.beta=0.08, it can move further)" in said.out


def test_the_prompts_of_a_fine_tuned_model_are_those_of_its_records(base: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"prompt": "how", "completion": "good"}\n{"prompt": "why", "completion": "bad"}\n')
    assert glassformer("align", "sft", base, pairs, "--out", tmp_path / "sft", *SHORT).code == 0
    (tmp_path / "judge.py").write_text(SCORE)
    command = ("align", "rl", tmp_path / "sft", "--reward", f"{tmp_path / 'judge.py'}:score", *ROUND, "--out")
    assert f"2 prompts of {pairs}" in glassformer(*command, tmp_path / "m").err
    pairs.unlink()
    misused(glassformer(*command, tmp_path / "n"), f"learned from, {pairs}, are not there; name one with --prompts")


def test_what_was_steered_is_steered_on_by_the_same_prompts(base: Path, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("how is it?\n")
    (tmp_path / "judge.py").write_text(SCORE)

    def steered(start: Path, name: str, *more: str | Path) -> str:
        judge = f"{tmp_path / 'judge.py'}:score"
        said = glassformer("align", "rl", start, "--reward", judge, "--out", tmp_path / name, *ROUND, *more)
        assert said.code == 0, said.err
        (policy,) = (line for line in said.err.splitlines() if line.startswith("policy: "))
        return policy.partition("; reward")[0]

    first = steered(base, "first", "--prompts", prompts)
    assert first == f"policy: {base}, 1 prompt of {prompts}"
    assert steered(tmp_path / "first", "second") == f"policy: {tmp_path / 'first'}, 1 prompt of {prompts}"
    steered(base, "a")
    assert steered(tmp_path / "a", "b").endswith("/a, the empty prompt (name others with --prompts)")
    assert steered(tmp_path / "b", "c").endswith("/b, the empty prompt (name others with --prompts)")


def test_dpo_leaves_a_model_and_says_how_its_answers_changed(stages: Stages, tmp_path: Path) -> None:
    records = stages / "records" / "preferences.jsonl"
    command = ("align", "dpo", stages / "sft", records, "--out", tmp_path / "m", *SHORT)
    said = glassformer(*command)
    assert said.code == 0, said.err
    assert "on held-out pairs accuracy " in said.out
    assert "of 40 answers, before → after: well formed: " in said.out
    misused(glassformer(*command), "--overwrite")
    into_its_start = ("align", "dpo", stages / "sft", records, "--out", stages / "sft", "--overwrite", *SHORT)
    misused(glassformer(*into_its_start), "name another folder, so that it is not lost")
    wrong = (*command, "--overwrite", "--set", "training.label_smoothing=0.5")
    misused(glassformer(*wrong), "training.label_smoothing=0.5")


def test_evaluate_compares_stages_by_the_exact_judge(base: Path, stages: Stages) -> None:
    command = ("align", "evaluate", base, stages / "sft", "--answers", "40", "--device", "cpu")
    said = glassformer(*command, "--reward", stages / "reward")
    assert said.code == 0, said.err
    assert [line.split("  ")[0] for line in said.out.splitlines()[1:4]] == [
        "well formed", "about the thing asked", "favourable"
    ]  # fmt: skip
    assert "the referee's reward" in said.out
    found = documents(glassformer(*command, "--json"))
    assert found["prompts"] == str(stages / "records" / "pairs.jsonl")
    first, second = found["models"].values()
    assert first["kl"]["value"] == pytest.approx(0, abs=1e-5)
    assert second["kl"]["value"] > 0
    assert first["well_formed"].keys() == {"value", "low", "high"}


def test_evaluate_of_other_prompts_says_that_it_has_no_exact_judge(base: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("how is the weather?\n")
    command = ("align", "evaluate", base, "--prompts", tmp_path / "prompts.txt", "--answers", "5", "--device", "cpu")
    said = glassformer(*command)
    assert said.code == 0, said.err
    assert "well formed" not in said.out
    assert "no exact judge" in said.err
    misused(glassformer("align", "evaluate", tmp_path / "none"), "no such model folder")
    misused(glassformer(*command, "--max-tokens", "999"), "leaves no room for max_tokens = 999")
    misused(glassformer(*command, "--reward", tmp_path / "none"), "there is no")


def test_generate_keeps_the_best_of_several(base: Path, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(SCORE)
    command = ("generate", base, "the plot", "how", "--max-tokens", "9", "--device", "cpu", "--json")
    best = documents(glassformer(*command, "--best-of", "8", "--reward", f"{tmp_path / 'judge.py'}:score"))
    every = documents(glassformer(*command, "--samples", "8"))["texts"]
    for text in best["texts"]:
        lengths = [len(one["prompt"] + one["continuation"]) for one in every if one["prompt"] == text["prompt"]]
        assert text["reward"] == len(text["prompt"] + text["continuation"]) == max(lengths)
    shown = glassformer(*command[:-1], "--best-of", "8", "--reward", f"{tmp_path / 'judge.py'}:score").out
    for number, text in enumerate(best["texts"], 1):
        assert f"[{number}, reward {text['reward']:.4f}] {text['prompt']}" in shown
    misused(glassformer(*command, "--best-of", "8"), "--best-of and --reward belong together")
    misused(glassformer(*command, "--reward", "judge.py:score"), "--best-of and --reward belong together")
    both = ("--best-of", "2", "--reward", f"{tmp_path / 'judge.py'}:score")
    misused(glassformer(*command, *both, "--stop", "x"), "--stop and --best-of cannot be combined")
    misused(glassformer(*command, *both, "--max-tokens", "500"), "leaves no room for max_tokens = 500")
