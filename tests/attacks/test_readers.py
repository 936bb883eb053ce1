"""Forged readers, tokenizers, bodies and encoders."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_tensors

from glassformer.data.checksums import write_sums
from tests.attacks.answer import answered
from tests.attacks.test_folders import replaced_by, sparse
from tests.checkpoints import describe_encoder, write_checkpoint
from tests.cli.terminal import Outcome, glassformer
from tests.matrix.samples import let_both_answer
from tests.trained import write_csv

Array = np.ndarray[Any, Any]
Tamper = Callable[[Path], Any]
QUICKEST = ("--preset", "tiny", "--set", "training.epochs=0")
WORDS = ("good", "bad", "plot", "film", "book", "song", "dull", "fine", "great", "poor", "play")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A body, a model that reads with it, and an encoder."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "u.txt").write_text("\n".join(" ".join(WORDS[n % 7 :] + WORDS[: n % 5]) for n in range(200)))
    out = glassformer("embeddings", folder / "u.txt", "--out", folder / "body", "--dims", 9, "--min-count", 2)
    assert out.code == 0, out.err
    table = write_csv(folder / "t.csv", [(f"{WORDS[n % 11]} {n}", "yn"[n % 2]) for n in range(44)])
    out = glassformer("train", table, "--out", folder / "model", *QUICKEST, "--set", f"model.body={folder / 'body'}")
    assert out.code == 0, out.err
    let_both_answer(folder / "model")
    weighed = {name: {"weight": 0.5} for name in ("counting", "transformer", "body")}
    edited("config.json", lambda raw: raw["readers"].update(weighed))(folder / "model")
    write_checkpoint(folder / "encoder", "bert", "Model", num_hidden_layers=1)
    mean = ("Pooling", {"word_embedding_dimension": 24, "pooling_mode_mean_tokens": True})
    describe_encoder(folder / "encoder", mean, ("Normalize", {}), window=30)
    return folder


def edited(name: str, change: Callable[[Any], Any]) -> Tamper:
    def tamper(folder: Path) -> None:
        raw = json.loads((folder / name).read_text())
        change(raw)
        (folder / name).write_text(json.dumps(raw))

    return tamper


def arrays(name: str, change: Callable[[dict[str, Array]], Mapping[str, Array]]) -> Tamper:
    def tamper(folder: Path) -> None:
        changed = change(load_file(folder / name)).items()
        save_file({key: np.asarray(array, order="C") for key, array in changed}, folder / name)

    return tamper


def all_of(*tampers: Tamper) -> Tamper:
    return lambda folder: [tamper(folder) for tamper in tampers]


def tokenizer(**values: Any) -> Tamper:
    return edited("tokenizer.json", lambda raw: raw.update(values))


def cutter(kind: str, **values: Any) -> Tamper:
    def change(raw: Any) -> None:
        listed = raw["model"]["vocab"]
        vocab = [[piece, -1.0] for piece in listed] if kind == "Unigram" else listed
        raw.update(model={"type": kind, "vocab": vocab, **values}, added_tokens=[])

    return edited("tokenizer.json", change)


def adds(kind: str, **values: Any) -> Tamper:
    return tokenizer(post_processor={"type": kind, "sep": ["</s>", 1], "cls": ["<s>", 2**32 - 1], **values})


TEMPLATE = {
    "type": "TemplateProcessing", "pair": [], "special_tokens": {"x": {"id": "x", "ids": [10**6], "tokens": ["x"]}},
    "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
}  # fmt: skip
VALUES, LISTS = "readers/body/values.safetensors", "readers/body/words.json"
NO_WORDS = all_of(
    arrays(VALUES, lambda of: of | {name: of[name][:0] for name in ("weights", "values", "piece_values")}),
    edited(LISTS, lambda raw: raw.update(words=[], pieces=[])),
)
MODELS: dict[str, tuple[Tamper, tuple[str, ...]]] = {
    "head-of-a-matrix": (arrays(VALUES, lambda of: of | {"head": of["head"][0]}), ("does not match words.json",)),
    "head-of-a-number": (arrays(VALUES, lambda of: of | {"head": np.ones(())}), ("does not match words.json",)),
    "head-of-four-dimensions": (arrays(VALUES, lambda of: of | {"head": of["head"][None]}), ("does not match",)),
    "head-for-no-text": (arrays(VALUES, lambda of: of | {"head": of["head"][:0]}), ("does not match words.json",)),
    "head-for-3-texts": (arrays(VALUES, lambda of: of | {"head": of["head"].repeat(3, 0)}), ("match config.json",)),
    "head-for-1e9-texts": (
        arrays(VALUES, lambda of: of | {"head": np.zeros((10**9, 0, 2)), "values": of["values"][:, :0],
                                        "piece_values": of["piece_values"][:, :0]}), ("match config.json",)),
    "no-head": (arrays(VALUES, lambda of: {"bias": of["bias"]}), ("does not match words.json",)),
    "no-words": (NO_WORDS, ("does not match words.json",)),
    "bias-of-nan": (arrays(VALUES, lambda of: of | {"bias": of["bias"] * np.nan}), ("bias holds",)),
    "bias-of-1e300": (arrays(VALUES, lambda of: of | {"bias": np.full(2, 1e300)}), ("bias holds NaN or infinite",)),
    "bias-of-3-labels": (arrays(VALUES, lambda of: of | {"bias": np.zeros(3)}), ("does not match words.json",)),
    "name-a-list": (edited(LISTS, lambda raw: raw.update(body=["x"])), ("words.json: body", "damaged")),
    "name-of-half-a-pair": (edited(LISTS, lambda raw: raw.update(body="\ud800")), ("words.json", "damaged")),
    "pseudocount-negative": (edited(LISTS, lambda raw: raw.update(pseudocount=-1)), ("pseudocount", "damaged")),
    "label-of-half-a-pair": (
        edited("config.json", lambda raw: raw["target"].update(labels=["\ud800", "b"])), ("config.json", "damaged")),
    "two-texts-and-no-separator": (
        edited("config.json", lambda raw: raw["model"].update(design="several-texts", texts=2, separator=-5)),
        ("separator",)),
    "encoder-that-is-not-there": (
        edited("config.json", lambda raw: raw["readers"].update(encoder={"weight": 1})), ("encoder is missing",)),
    "unknown-word-unknown": (cutter("WordLevel", unk_token="zzz"), ("no token for unknown words", "damaged")),
    "unigram-without-one": (cutter("Unigram", unk_id=None, byte_fallback=False), ("no token for unknown words",)),
    "wordpiece-without-one": (
        cutter("WordPiece", unk_token="[no]", continuing_subword_prefix="##", max_input_chars_per_word=100),
        ("no token for unknown words",)),
    "bpe-without-one": (cutter("BPE", unk_token="no", merges=[]), ("no token for unknown words",)),
    "adds-what-has-no-id": (tokenizer(post_processor=TEMPLATE), ("adds a token to texts that has no id",)),
    "adds-as-bert": (adds("BertProcessing"), ("adds a token to texts that has no id",)),
    "adds-as-roberta": (adds("RobertaProcessing", trim_offsets=True, add_prefix_space=False), ("has no id",)),
    "cuts-the-second-text": (
        tokenizer(truncation={"max_length": 1, "stride": 0, "strategy": "OnlySecond", "direction": "Left"}),
        ("cuts texts as ours never do",)),
}  # fmt: skip
FOUND = ("head-of-a-matrix", "head-of-a-number", "head-for-3-texts", "head-for-1e9-texts", "no-words",
         "name-of-half-a-pair", "label-of-half-a-pair", "unknown-word-unknown", "unigram-without-one",
         "wordpiece-without-one", "bpe-without-one", "adds-what-has-no-id", "adds-as-bert", "adds-as-roberta",
         "cuts-the-second-text")  # fmt: skip


def cases(of: Mapping[str, Any], mended: tuple[str, ...]) -> list[Any]:
    assert set(mended) <= set(of)
    return [pytest.param(name, marks=[pytest.mark.mended] if name in mended else []) for name in of]


@pytest.mark.parametrize("name", cases(MODELS, FOUND))
def test_a_model_with_forged_readers_is_refused(name: str, made: Path, tmp_path: Path) -> None:
    tamper, words = MODELS[name]
    folder = shutil.copytree(made / "model", tmp_path / "model")
    (folder / "SHA256SUMS").unlink()
    tamper(folder)
    write_sums(folder)
    answered(glassformer("predict", folder, "a good film", "--json"), *words, code=1)


def words(old: bytes, new: bytes) -> Tamper:
    return lambda folder: (folder / "words.txt").write_bytes((folder / "words.txt").read_bytes().replace(old, new, 1))


def card(**values: Any) -> Tamper:
    return edited("body.json", lambda raw: raw.update(values))


def vectors(change: Callable[[dict[str, Array]], Mapping[str, Array]]) -> Tamper:
    return arrays("vectors.safetensors", change)


def piped(name: str) -> Tamper:
    return replaced_by(name, os.mkfifo)


BODIES: dict[str, tuple[Tamper, tuple[str, ...]]] = {
    "of-no-numbers": (
        all_of(card(dims=0), vectors(lambda of: of | {name: of[name][:, :0] for name in ("words", "pieces")})),
        ("body.json: dims", "damaged")),
    "of-no-words": (
        all_of(lambda folder: (folder / "words.txt").write_text("\n\n"),
               vectors(lambda of: {name: array[:0] for name, array in of.items()})),
        ("words.txt is damaged",)),
    "dims-negative": (card(dims=-9), ("body.json: dims",)),
    "dims-1e30": (card(dims=10**30), ("does not match words.txt",)),
    "name-of-half-a-pair": (card(name="\ud800"), ("body.json", "damaged")),
    "sources-of-odd-types": (card(sources=[1, {}]), ("body.json: sources.0",)),
    "axes-of-a-text": (card(axes="x"), ("body.json: axes",)),
    "card-a-list": (lambda folder: (folder / "body.json").write_text("[]"), ("body.json", "damaged")),
    "words-twice": (words(b"bad\n", b"good\n"), ("each once",)),
    "words-blank": (words(b"bad\n", b"\n"), ("does not match words.txt",)),
    "words-of-half-a-pair": (words(b"bad", b"\xed\xa0\x80"), ("words.txt is damaged",)),
    "words-a-pipe": (piped("words.txt"), ("words.txt is not a file",)),
    "vectors-a-pipe": (piped("vectors.safetensors"), ("vectors.safetensors is not a file",)),
    "vectors-signed": (vectors(lambda of: of | {"words": of["words"].astype(np.int8)}), ("words holds no bytes",)),
    "vectors-of-more": (vectors(lambda of: of | {"x": of["words"]}), ("does not match words.txt",)),
    "shares-of-nan": (vectors(lambda of: of | {"shares": of["shares"] * np.nan}), ("shares holds",)),
    "checksums-of-another-folder": (
        lambda folder: (folder / "SHA256SUMS").write_text("0" * 64 + "  ../../etc/passwd\n"),
        ("SHA256SUMS is damaged",)),
}  # fmt: skip


@pytest.mark.parametrize("name", cases(BODIES, ("of-no-numbers", "of-no-words", "name-of-half-a-pair")))
def test_a_forged_body_is_refused_before_training(name: str, made: Path, tmp_path: Path) -> None:
    tamper, said = BODIES[name]
    body = shutil.copytree(made / "body", tmp_path / "body")
    (body / "SHA256SUMS").unlink()
    tamper(body)
    answered(trained_with(body, made, tmp_path), *said, code=1)
    assert not (tmp_path / "m").exists()


def trained_with(body: object, made: Path, place: Path) -> Outcome:
    return glassformer("train", made / "t.csv", "--out", place / "m", *QUICKEST, "--set", f"model.body={body}")


@pytest.mark.mended
def test_the_name_of_a_body_steers_no_terminal_from_the_model_card(made: Path, tmp_path: Path) -> None:
    body = shutil.copytree(made / "body", tmp_path / "body")
    (body / "SHA256SUMS").unlink()
    card(name="\x1b[2J\u202ebody")(body)
    assert trained_with(body, made, tmp_path).code == 0
    assert "the body `\ufffd[2J\ufffdbody`" in (tmp_path / "m" / "README.md").read_text()


def index_of(weight_map: object) -> Tamper:
    def tamper(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "other.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))

    return tamper


def pooling(mode: object) -> Tamper:
    return edited("1_Pooling/config.json", lambda raw: raw.update(pooling_mode=mode))


def prompt(prompts: object, name: object) -> Tamper:
    file, said = "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": name}
    return edited(file, lambda raw: raw.update(said))


def parts(*kinds_and_places: tuple[str, object]) -> Tamper:
    named = [{"type": f"sentence_transformers.models.{kind}", "path": place} for kind, place in kinds_and_places]
    return lambda folder: (folder / "modules.json").write_text(json.dumps(named))


def dense(**settings: object) -> Tamper:
    def tamper(folder: Path) -> None:
        (folder / "2_Dense").mkdir()
        (folder / "2_Dense" / "config.json").write_text(json.dumps({"out_features": 8, **settings}))
        save_tensors({"linear.weight": torch.zeros(8, 24)}, folder / "2_Dense" / "model.safetensors")
        parts(("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"))(folder)

    return tamper


def in_lines(change: Tamper = lambda _: None, **settings: object) -> Tamper:
    """With a `vocab.txt` in place of `tokenizer.json`."""

    def tamper(folder: Path) -> None:
        listed = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.txt").write_text("\n".join(listed))
        change(folder / "vocab.txt")
        edited("tokenizer_config.json", lambda raw: raw.update(settings))(folder)

    return tamper


def settings(**values: Any) -> Tamper:
    return edited("config.json", lambda raw: raw.update(values))


def special(**values: object) -> Tamper:
    return edited("tokenizer_config.json", lambda raw: raw.update(values))


BESIDE, POOLINGS, NO_PROMPT = "does not name files beside it", "cls, max, mean", "there is no such prompt"
NO_FOLDER = "is not a folder in it"
ENCODERS: dict[str, tuple[Tamper, str, int]] = {
    "index-of-lists": (index_of({"a": ["x"]}), BESIDE, 1),
    "index-of-numbers": (index_of({"a": 5}), BESIDE, 1),
    "index-of-both": (index_of({"a": 5, "b": "x"}), BESIDE, 1),
    "index-of-nothing": (index_of({"a": None}), BESIDE, 1),
    "index-of-objects": (index_of({"a": {"b": 1}}), BESIDE, 1),
    "index-up": (index_of({"a": "../../../etc/passwd"}), BESIDE, 1),
    "index-absolute": (index_of({"a": "/etc/passwd"}), BESIDE, 1),
    "index-of-the-folder-above": (index_of({"a": ".."}), "not a file", 1),
    "index-of-itself": (index_of({"a": "model.safetensors.index.json"}), "damaged", 1),
    "index-of-100000": (index_of({f"a{n}": f"x{n}" for n in range(100_000)}), "missing", 1),
    "a-pickle": (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "a pickle", 2),
    "another-type": (settings(model_type=["bert"]), "the type ['bert']", 2),
    "heads-none": (settings(num_attention_heads=0), "n_heads", 2),
    "activation-of-code": (settings(hidden_act="exec"), "'exec' is not known", 2),
    "pooling-a-number": (pooling(5), POOLINGS, 2),
    "pooling-true": (pooling(True), POOLINGS, 2),
    "pooling-an-object": (pooling({"mean": 1}), POOLINGS, 2),
    "poolings-300": (pooling(["mean"] * 300), "at most 5", 2),
    "prompt-named-by-a-list": (prompt({"a": "b"}, ["a"]), NO_PROMPT, 2),
    "prompt-named-by-an-object": (prompt({"a": "b"}, {}), NO_PROMPT, 2),
    "prompt-a-number": (prompt({"a": 5}, "a"), NO_PROMPT, 2),
    "prompt-of-5-MB": (prompt({"a": "good " * 10**6}, "a"), "at most 10000 characters", 2),
    "part-above": (parts(("Transformer", "..")), NO_FOLDER, 1),
    "part-absolute": (parts(("Transformer", "/etc")), NO_FOLDER, 1),
    "part-of-a-null-byte": (parts(("Transformer", "a\0b"), ("Pooling", "1_Pooling")), "no config.json", 2),
    "part-of-code": (edited("modules.json", lambda raw: raw[0].update(type="evil.Module")), "none is run", 2),
    "dense-1e12": (dense(out_features=10**12), "1000000000000 out_features", 1),
    "dense-1e30": (dense(out_features=10**30), "out_features", 1),
    "dense-of-code": (dense(activation_function="os.system"), "os.system", 2),
    "window-negative": (
        edited("sentence_bert_config.json", lambda raw: raw.update(max_seq_length=-5)), "its window is -5", 2),
    "padding-a-number": (special(pad_token=5), "no pad_token (5)", 2),
    "padding-an-object": (special(pad_token={"content": {"content": "x"}}), "no pad_token", 2),
    "padding-a-list": (special(pad_token=["x"]), "no pad_token (['x'])", 2),
    "unknown-word-unknown": (
        edited("tokenizer.json", lambda raw: raw["model"].update(unk_token="zz")), "no token for unknown words", 1),
    "lines-unknown-a-list": (in_lines(unk_token=["x"]), "no unk_token (['x'])", 2),
    "lines-unknown-a-number": (in_lines(unk_token=5), "no unk_token (5)", 2),
    "lines-of-200-MB": (in_lines(sparse(200 << 20)), "larger than 128 MiB", 1),
    "lines-of-latin-1": (in_lines(lambda file: file.write_bytes(b"\xff\n")), "not UTF-8", 1),
    "lines-a-pipe": (in_lines(lambda file: replaced_by(file.name, os.mkfifo)(file.parent)), "no tokenizer.json", 2),
}  # fmt: skip
OF_ENCODERS = (
    "index-of-lists", "index-of-numbers", "index-of-both", "index-of-nothing", "index-of-objects", "pooling-a-number",
    "pooling-true", "prompt-named-by-a-list", "prompt-named-by-an-object", "prompt-of-5-MB", "dense-1e12", "dense-1e30",
    "padding-a-list", "unknown-word-unknown", "lines-unknown-a-list", "lines-unknown-a-number", "lines-of-200-MB",
)  # fmt: skip


@pytest.mark.parametrize("name", cases(ENCODERS, OF_ENCODERS))
def test_a_forged_encoder_is_refused(name: str, made: Path, tmp_path: Path) -> None:
    tamper, said, code = ENCODERS[name]
    folder = shutil.copytree(made / "encoder", tmp_path / "encoder")
    tamper(folder)
    answered(trained_with(f"hf:{folder}", made, tmp_path), said, code=code)
    assert not (tmp_path / "m").exists()


@pytest.mark.mended
@pytest.mark.parametrize("odd", ["do_lower_case", "tokenize_chinese_chars", "strip_accents"])
def test_a_switch_of_the_tokenizer_that_is_no_truth_value_is_read_as_one(odd: str, made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made / "encoder", tmp_path / "encoder")
    all_of(in_lines(), special(**{odd: "no"}))(folder)
    assert trained_with(f"hf:{folder}", made, tmp_path).code == 0
