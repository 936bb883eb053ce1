"""`glassformer generate`: continue texts with a language model."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.given import settings_of
from glassformer.cli.options import Asking
from glassformer.cli.output import doing, print_json, say, say_note, show
from glassformer.cli.there import model_folder, text_file
from glassformer.cli.unknown import warn_of_unknown
from glassformer.data.lines import lines_of
from glassformer.data.wording import counted
from glassformer.errors import UsageError, brief_value

if TYPE_CHECKING:
    from glassformer.prediction.generation import Continuation, TextGenerator
    from glassformer.prediction.sampling import SamplingConfig

_MOST_SAMPLES = 10_000


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """How tokens are chosen."""

    max_tokens: Annotated[int, typer.Option(help="Maximum number of tokens to write per text.")] = 100
    temperature: Annotated[
        float, typer.Option(help="Values below 1 make likely tokens likelier. 0 always takes the most likely token.")
    ] = 1.0
    top_k: Annotated[
        int | None,
        typer.Option(metavar="<int>", help="Choose only among this many most likely tokens. Default: all."),
    ] = None
    top_p: Annotated[
        float, typer.Option(help="Choose only among the most likely tokens that together have this probability.")
    ] = 1.0
    repetition_penalty: Annotated[
        float, typer.Option(help="Values above 1 make tokens that already occur in the text less likely.")
    ] = 1.0
    stop: Annotated[list[str] | None, typer.Option(help="End the text before this string. May be repeated.")] = None
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0

    def config(self) -> SamplingConfig:
        """Return the settings. Raises `UsageError` if one is out of its range."""
        from glassformer.prediction.sampling import SamplingConfig

        sampling = settings_of(SamplingConfig, **vars(self) | {"stop": tuple(self.stop or ())})
        if "" in sampling.stop:
            raise UsageError("--stop: an empty string would end every text at once")
        return sampling


def generate(
    model: Annotated[Path, typer.Argument(callback=model_folder, help="The model folder of a language model.")],
    prompts: Annotated[
        list[str] | None, typer.Argument(help="Beginnings of the texts. Without any, the model begins by itself.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            callback=text_file, help="A file with one prompt per line. Blank lines are skipped. - reads standard input."
        ),
    ] = None,
    *,
    sampled: Sampled,
    samples: Annotated[int, typer.Option(help="Number of texts per prompt.")] = 1,
    best_of: Annotated[
        int,
        typer.Option(
            min=1,
            max=_MOST_SAMPLES,
            help="Write this many texts in place of one, and keep the one with the highest --reward.",
        ),
    ] = 1,
    reward: Annotated[
        str | None,
        typer.Option(
            help="What --best-of chooses by: a reward model's folder, CLASSIFIER_FOLDER:LABEL, or FILE.py:FUNCTION."
        ),
    ] = None,
    run: Asking,
) -> None:
    """Let a language model continue texts. A single text appears while it is written."""
    from glassformer.prediction.generation import TextGenerator, check_prompts

    sampling = sampled.config()
    if not 1 <= samples <= _MOST_SAMPLES:
        raise UsageError(f"--samples {brief_value(samples)}: at least 1, and at most {_MOST_SAMPLES:,}")
    if (best_of > 1) != (reward is not None):
        raise UsageError("--best-of and --reward belong together: give both, and --best-of from 2 on")
    if sampled.stop and reward:
        raise UsageError("--stop and --best-of cannot be combined: a reward judges whole texts")
    if prompts and file:
        raise UsageError("give prompts or --file, not both")
    asked = _prompts_of(file) if file else prompts or [""]
    check_prompts(asked)
    doing(f"reading {model}")
    writer = TextGenerator.load(model, device=run.place)
    texts = [prompt for prompt in asked for _ in range(samples)]
    _warn(writer, texts, sampling)
    written = _written(writer, model, texts, sampling, best_of=best_of, reward=reward, device=run.place, json=run.json)
    if any(text.slid for text in written):
        say(
            f"note: the text is longer than the window of {writer.max_seq_len:,} tokens; the model wrote its end "
            "without seeing its beginning"
        )


def _written(
    writer: TextGenerator, model: Path, texts: list[str], sampling: SamplingConfig, *, best_of: int,
    reward: str | None, device: str, json: bool,
) -> list[Continuation]:  # fmt: skip
    """Write the texts, and show them."""
    if reward is None and not json and len(texts) == 1:
        return _print_live(writer, texts[0], sampling)
    rewards: list[float | None] = [None for _ in texts]
    if reward is None:
        doing(f"writing {counted(len(texts), 'text')}")
        written = writer.complete(texts, sampling)
    else:
        written, rewards = _best_written(writer, texts, sampling, best_of, reward, device)
    if json:
        records = [_record(*each) for each in zip(texts, written, rewards, strict=True)]
        judge = {} if reward is None else {"reward": reward}
        print_json({"model": str(model), **judge, "texts": records})
        return written
    for number, (prompt, continuation, each) in enumerate(zip(texts, written, rewards, strict=True), 1):
        judged = "" if each is None else f", reward {each:.4f}"
        show(f"{'' if number == 1 else chr(10)}[{number}{judged}] {prompt + continuation.text}")
    return written


def _best_written(
    writer: TextGenerator, texts: list[str], sampling: SamplingConfig, n: int, name: str, device: str
) -> tuple[list[Continuation], list[float | None]]:
    """Write each text n times, and return the best with their rewards."""
    from glassformer.alignment.judged import best_of
    from glassformer.alignment.rewards import open_reward
    from glassformer.alignment.steering import check_room
    from glassformer.prediction.generation import Continuation

    check_room(texts, writer.tokenizer, sampling.max_tokens, writer.max_seq_len)
    judge = open_reward(name, writer.tokenizer, device=device)
    doing(f"writing {len(texts) * n:,} texts")
    found, rewards = best_of(
        n, writer.model, writer.tokenizer, judge, texts, sampling, max_seq_len=writer.max_seq_len
    )  # fmt: skip
    best = [
        Continuation(text=text, token_ids=ids, ended="end" if ended else "length")
        for text, ids, ended in zip(found.completions, found.completion_ids, found.ended, strict=True)
    ]
    return best, list(rewards)


def _prompts_of(file: Path) -> list[str]:
    from glassformer.data.rows import check_file

    if str(file) == "-":
        prompts = list(lines_of(sys.stdin.buffer, "standard input", on_note=say_note))
    else:
        with check_file(file).open("rb") as stream:
            prompts = list(lines_of(stream, str(file), on_note=say_note))
    prompts = [prompt for prompt in prompts if prompt.strip()]
    if not prompts:
        raise UsageError(f"--file {file}: there is no prompt in it")
    return prompts


def _warn(writer: TextGenerator, texts: list[str], sampling: SamplingConfig) -> None:
    warn_of_unknown(Counter(word for text in texts for word in writer.tokenizer.unknown_words(text)))
    if sampling.temperature == 0 and (sampling.top_k or sampling.top_p < 1):
        say("note: at temperature 0 the likeliest token is taken, whatever --top-k and --top-p say")


def _print_live(writer: TextGenerator, prompt: str, sampling: SamplingConfig) -> list[Continuation]:
    shown = 0
    written: list[Continuation] = []
    show(prompt, end="")
    for written in writer.stream([prompt], sampling):
        show(written[0].text[shown:], end="")
        shown = len(written[0].text)
    show()
    return written


def _record(prompt: str, continuation: Continuation, reward: float | None) -> dict[str, Any]:
    record = {
        "prompt": prompt,
        "continuation": continuation.text,
        "tokens": len(continuation.token_ids),
        "ended": continuation.ended,
        "slid": continuation.slid,
    }
    return record if reward is None else record | {"reward": reward}
