import io
import unicodedata
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli import generate
from glassformer.data.tokenizers import TokenizerConfig
from glassformer.prediction.generation import Continuation, TextGenerator
from glassformer.prediction.model_folder import save_model
from glassformer.prediction.sampling import SamplingConfig
from tests.cli.terminal import failed, glassformer, misused
from tests.prediction.language import SMALL, TEXT, Recites, byte_tokenizer, trained_language_model
from tests.prediction.samples import small_trained_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It knows thirteen words, and has a window of 24 tokens."""
    folder = tmp_path_factory.mktemp("language") / "model"
    save_model(folder, trained_language_model(tokenizer=TokenizerConfig(min_frequency=1)), card="")
    return folder


def text_of(model: Path, prompt: str, **sampling: float) -> str:
    (written,) = TextGenerator.load(model).complete([prompt], SamplingConfig.model_validate(sampling))
    return written.text


def test_one_text_is_written_after_its_prompt(model: Path) -> None:
    said = glassformer("generate", model, "the cat", "--max-tokens", 9)
    assert (said.code, said.err) == (0, "")
    assert said.out == f"the cat{text_of(model, 'the cat', max_tokens=9)}\n"
    assert len(said.out.split()) > 4
    assert glassformer("generate", model, "the cat", "--max-tokens", 9).out == said.out
    assert glassformer("generate", model, "the cat", "--max-tokens", 9, "--seed", 5).out != said.out


def test_without_a_prompt_it_writes_any_text(model: Path) -> None:
    said = glassformer("generate", model, "--max-tokens", 5)
    assert (said.code, said.err, said.out) == (0, "", f"{text_of(model, '', max_tokens=5)}\n")


def test_every_setting_arrives(model: Path) -> None:
    flags = {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "repetition_penalty": 1.3, "seed": 3, "max_tokens": 12}
    given = [part for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", value)]
    expected = text_of(model, "the", **flags)
    assert glassformer("generate", model, "the", *given).out == f"the{expected}\n"
    for name in flags:
        others = flags | {
            name: {"seed": 9, "max_tokens": 2, "temperature": 9.0, "top_k": 1, "top_p": 0.1}.get(name, 50)
        }
        assert text_of(model, "the", **others) != expected, f"{name} does not matter here"


def test_several_texts_are_numbered(model: Path) -> None:
    said = glassformer("generate", model, "the cat", "the dog", "--samples", 2, "--max-tokens", 4)
    texts = said.out.removesuffix("\n").split("\n\n")
    assert [text[:11] for text in texts] == ["[1] the cat", "[2] the cat", "[3] the dog", "[4] the dog"]
    assert texts[0][4:] != texts[1][4:], "samples of one prompt are not alike"


def test_prompts_of_a_file_or_a_pipe(model: Path, tmp_path: Path) -> None:
    content = b"the cat\r\n\nthe dog"
    (tmp_path / "prompts.txt").write_bytes(content)
    expected = glassformer("generate", model, "the cat", "the dog", "--max-tokens", 4)
    said = glassformer("generate", model, "--file", tmp_path / "prompts.txt", "--max-tokens", 4)
    assert (said.code, said.out) == (0, expected.out)
    assert glassformer("generate", model, "--file", "-", "--max-tokens", 4, stdin=content).out == expected.out


def test_a_file_of_prompts_that_cannot_be_read(model: Path, tmp_path: Path) -> None:
    misused(glassformer("generate", model, "--file", tmp_path / "prompts.txt"), "No such file")
    (tmp_path / "prompts.txt").write_bytes(b"ol\xc3\xa9\ncaf\xe9")
    misused(glassformer("generate", model, "--file", tmp_path / "prompts.txt"), "prompts.txt, line 2", "byte 4")
    misused(glassformer("generate", model, "--file", "-", stdin=b"\n \n"), "no prompt")
    misused(glassformer("generate", model, "the", "--file", "-"), "not both")


def test_what_is_written_cannot_steer_the_terminal(tmp_path: Path) -> None:
    save_model(tmp_path, trained_language_model(), card="")
    for prompts in (["\x1b[2J"], ["\x1b[2J", "\r"]):
        out = glassformer("generate", tmp_path, *prompts, "--max-tokens", 300, "--temperature", 3).out
        assert [char for char in out if unicodedata.category(char) == "Cc" and char not in "\n\t"] == []
        assert "\ufffd[2J" in out


def test_json_is_one_document(model: Path) -> None:
    said = glassformer("generate", model, "the cat", "", "--max-tokens", 4, "--stop", "dog", "--json")
    assert said.err == ""
    assert said.document["model"] == str(model)
    first, second = said.document["texts"]
    assert list(first) == ["prompt", "continuation", "tokens", "ended", "slid"]
    assert (first["prompt"], second["prompt"]) == ("the cat", "")
    assert first["tokens"] <= 4
    assert first["ended"] in ("length", "end", "stop")
    assert first["slid"] is False
    assert first["continuation"] == TextGenerator.load(model).complete(
        ["the cat", ""], SamplingConfig(max_tokens=4, stop=("dog",))
    )[0].text  # fmt: skip


def test_a_text_is_shown_as_it_is_written() -> None:
    text, arrived, shown = "été 😀 fin", io.BytesIO(), [""]
    tokenizer = byte_tokenizer()
    model = Recites(tokenizer.encode([text])[0].tolist(), tokenizer.vocab_size)
    writer = TextGenerator(model, tokenizer, max_seq_len=99)
    stream = writer.stream

    def watched(*arguments: Any) -> Iterator[list[Continuation]]:
        for written in stream(*arguments):
            yield written
            shown.append(arrived.getvalue().decode())  # after what was done with it

    writer.stream = watched  # type: ignore[assignment, method-assign]
    with redirect_stdout(io.TextIOWrapper(arrived, encoding="utf-8")) as out:
        (written,) = generate._print_live(writer, "é", SamplingConfig(temperature=0))
        out.flush()
        assert written.text == text[1:]
        assert arrived.getvalue().decode() == f"{text}\n"
    steps = [later.removeprefix(earlier) for earlier, later in pairwise(shown)]
    assert [part for part in steps if part] == ["ét", "é", " ", "😀", " ", "f", "i", "n"]


def test_what_is_amiss_is_said_beside_the_text(model: Path) -> None:
    said = glassformer("generate", model, "the cow and the emu", "the cow", "--max-tokens", 2)
    assert "words never seen in training are read as unknown: cow, emu\n" in said.err
    said = glassformer("generate", model, "the", "--temperature", 0, "--top-p", 0.5, "--max-tokens", 2)
    assert "at temperature 0 the likeliest token is taken" in said.err
    assert glassformer("generate", model, "the", "--temperature", 0, "--max-tokens", 2).err == ""
    said = glassformer("generate", model, "the cat " * 20, "--max-tokens", 2)
    assert "longer than the window of 24 tokens" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--top-p", "3"], ["--top-p 3", "at most 1"]),
        (["--top-p", "0"], ["--top-p 0", "greater than 0"]),
        (["--top-p", "nan"], ["--top-p nan"]),
        (["--top-k", "0"], ["--top-k 0", "at least 1"]),
        (["--temperature", "-1"], ["--temperature -1"]),
        (["--temperature", "inf"], ["--temperature inf"]),
        (["--repetition-penalty", "0"], ["--repetition-penalty 0"]),
        (["--max-tokens", "0"], ["--max-tokens 0"]),
        (["--seed", "-3"], ["--seed -3"]),
        (["--samples", "0"], ["--samples 0", "at least 1"]),
        (["--stop", ""], ["--stop", "empty"]),
        (["--device", "abacus"], ["--device abacus"]),
        (["not\udcffutf8"], ["argument 4", "not UTF-8"]),
    ],
)
def test_a_request_that_cannot_be_met(arguments: list[str], words: list[str], model: Path) -> None:
    misused(glassformer("generate", model, "the", *arguments), *words)


def test_values_that_are_no_numbers(model: Path) -> None:
    said = glassformer("generate", model, "the", "--max-tokens", "many")
    assert (said.code, said.out) == (2, "")
    assert "'--max-tokens'" in said.err
    assert "it must be a whole number" in said.err


def test_other_folders_are_refused_in_a_sentence(model: Path, tmp_path: Path) -> None:
    misused(glassformer("generate", tmp_path / "nosuch", "the"), "no such model folder")
    misused(glassformer("generate", tmp_path, "the"), "not a model folder", "glassformer pretrain")
    save_model(tmp_path / "classifier", small_trained_model(), card="")
    misused(glassformer("generate", tmp_path / "classifier", "the"), "holds a classifier", "language model is needed")
    misused(glassformer("predict", model, "the"), "holds a language model", "classifier is needed")
    masked = trained_language_model(model=SMALL.model_copy(update={"attention": "full"}))
    save_model(tmp_path / "masked", masked, card="")
    misused(glassformer("generate", tmp_path / "masked", "the"), "cannot continue", "--objective causal")


def test_damaged_weights_are_said(tmp_path: Path) -> None:
    damaged = trained_language_model()
    damaged.model.get_parameter("trunk.norm.weight").data.fill_(3e38)
    save_model(tmp_path, damaged, card="")
    failed(glassformer("generate", tmp_path, TEXT[:9], "--json"), "NaN or infinite logits")
