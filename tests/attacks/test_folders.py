"""Commands read manipulated model folders.

Each ends in one sentence, quickly and with little memory.
"""

import json
import os
import resource
import shutil
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file, save_file

from glassformer.data import checksums
from glassformer.data.checksums import SUMS_FILE, sha256_of
from glassformer.prediction import weights_file
from glassformer.prediction.model_folder import save_model
from tests.attacks.answer import answered, nothing_lost
from tests.cli.terminal import Outcome, glassformer
from tests.matrix.samples import let_both_answer
from tests.prediction.language import trained_language_model
from tests.trained import Trained

Tamper = Callable[[Path], None]
_SPARE_MEMORY = 3 << 30


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """What takes gigabytes fails, instead of the machine that tests it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + _SPARE_MEMORY, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(scope="module")
def answering(reviews: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that `train` wrote. Its transformer answers too: without a weight it would not be read."""
    made = tmp_path_factory.mktemp("answering") / "model"
    shutil.copytree(reviews.folder, made, ignore=shutil.ignore_patterns("evaluation"))
    let_both_answer(made)
    return made


@pytest.fixture
def folder(answering: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(answering, tmp_path / "model")


@pytest.fixture
def writer(tmp_path: Path) -> Path:
    """A language model."""
    save_model(tmp_path / "writer", trained_language_model(), card="")
    return tmp_path / "writer"


def config(**values: Any) -> Tamper:
    return edited("config.json", lambda raw: raw | values)


def target(**values: Any) -> Tamper:
    return edited("config.json", lambda raw: raw | {"target": raw["target"] | values})


def kept(**values: Any) -> Tamper:
    """What the model keeps of its held-out rows changed, for costs that need it."""

    def change(raw: Any) -> Any:
        found = raw["held_out_answers"]
        other = {"numbers": None} if "rows" in values else {}
        return raw | {"held_out_answers": found | {"kept": found["kept"] | other | values}}

    return both(edited("metrics.json", change), target(costs=[{"truth": "very good", "cost": 3}]))


def packed(content: bytes) -> str:
    return b64encode(zlib.compress(content)).decode()


PRICE: dict[str, Any] = {"kind": "number", "name": "price", "edges": [1, 2]}


def inputs(*columns: dict[str, Any]) -> Tamper:
    return config(inputs={"texts": ["text"], "columns": columns})


def shape(**values: Any) -> Tamper:
    return edited("config.json", lambda raw: raw | {"model": raw["model"] | values})


def edited(name: str, change: Callable[[Any], Any]) -> Tamper:
    def tamper(folder: Path) -> None:
        raw = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(change(raw)))

    return tamper


def written(name: str, content: str | bytes) -> Tamper:
    return lambda folder: void((folder / name).write_bytes(content if isinstance(content, bytes) else content.encode()))


def void(_: Any) -> None:
    """For lambdas whose result nobody wants."""


def weights(change: Callable[[torch.Tensor], torch.Tensor], only: str = "") -> Tamper:
    """The weights changed, all or those whose names begin so."""

    def tamper(folder: Path) -> None:
        file = folder / "model.safetensors"
        tensors = {
            name: change(tensor).contiguous() if name.startswith(only) else tensor
            for name, tensor in load_file(file).items()
        }
        save_file(tensors, file)

    return tamper


def counting(change: Callable[[torch.Tensor], torch.Tensor]) -> Tamper:
    """The weights of the counting reader changed."""

    def tamper(folder: Path) -> None:
        file = folder / "counting.safetensors"
        save_file({name: change(tensor).contiguous() for name, tensor in load_file(file).items()}, file)

    return tamper


def seen(hashes: torch.Tensor, name: str = "hashes") -> Tamper:
    """Other words of the training texts."""
    return lambda folder: save_file({name: hashes}, folder / "seen.safetensors")


def readers(**values: Any) -> Tamper:
    return edited("config.json", lambda raw: raw | {"readers": raw["readers"] | values})


def both(first: Tamper, second: Tamper) -> Tamper:
    def tamper(folder: Path) -> None:
        first(folder)
        second(folder)

    return tamper


def cut(name: str, size: int) -> Tamper:
    return lambda folder: void((folder / name).write_bytes((folder / name).read_bytes()[:size]))


def header_says(size: int) -> Tamper:
    def tamper(folder: Path) -> None:
        file = folder / "model.safetensors"
        file.write_bytes(struct.pack("<Q", size) + file.read_bytes()[8:])

    return tamper


def replaced_by(name: str, make: Callable[[Path], None]) -> Tamper:
    def tamper(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return tamper


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return make


def vocabulary(change: Callable[[dict[str, int]], None]) -> Tamper:
    def tamper(raw: dict[str, Any]) -> dict[str, Any]:
        change(raw["model"]["vocab"])
        return raw

    return edited("tokenizer.json", tamper)


def renumbered(vocab: dict[str, int], number: int) -> None:
    vocab[max(vocab, key=vocab.__getitem__)] = number


def cutter(step: dict[str, Any]) -> Tamper:
    return edited("tokenizer.json", lambda raw: raw | {"pre_tokenizer": step})


def normalizer(*steps: dict[str, Any]) -> Tamper:
    sequence = {"type": "Sequence", "normalizers": list(steps)}
    return edited("tokenizer.json", lambda raw: raw | {"normalizer": sequence})


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


NO_WEIGHT = {"weight": 0.0, "temperature": 1.0}
LONGER = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 100_000}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
PADDING = {
    "strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
    "pad_token": "<pad>",
}  # fmt: skip
NESTED = "[" * 200_000 + "]" * 200_000

DAMAGED: dict[str, tuple[Tamper, tuple[str, ...]]] = {
    "nan-weights": (weights(lambda tensor: tensor * torch.nan), ("NaN", "damaged")),
    "infinite-weights": (weights(lambda tensor: tensor + torch.inf), ("infinite", "damaged")),
    "weights-beyond-float32": (weights(lambda tensor: tensor.double() + 1e300), ("infinite", "damaged")),
    "int8-weights": (weights(lambda tensor: tensor.to(torch.int8)), ("I8", "F32")),
    "int64-weights": (weights(lambda tensor: tensor.to(torch.int64)), ("I64", "F32")),
    "boolean-weights": (weights(lambda tensor: tensor > 0), ("BOOL", "F32")),
    "float8-weights": (weights(lambda tensor: tensor.to(torch.float8_e4m3fn)), ("F8", "F32")),
    "weights-that-overflow": (both(weights(lambda tensor: torch.full_like(tensor, 3e38), "head"),
                                   readers(transformer={"weight": 1.0, "temperature": 1.0})), ("NaN or infinite",)),
    "counting-missing": (replaced_by("counting.json", void), ("counting.json", "missing")),
    "counting-weights-missing": (replaced_by("counting.safetensors", void), ("counting.safetensors", "missing")),
    "counting-cut": (cut("counting.json", 90), ("counting.json", "cut short")),
    "counting-weights-cut": (cut("counting.safetensors", 900), ("counting.safetensors", "cut short")),
    "counting-a-list": (written("counting.json", "[]"), ("counting.json", "damaged")),
    "counting-nested": (written("counting.json", NESTED), ("counting.json", "nested")),
    "counting-of-1-GB": (replaced_by("counting.json", sparse(1 << 30)), ("larger than 16 MiB",)),
    "counting-a-pipe": (replaced_by("counting.json", os.mkfifo), ("counting.json", "not a file")),
    "counting-weights-a-pipe": (replaced_by("counting.safetensors", os.mkfifo), ("counting.safetensors", "not a file")),
    "counting-weights-endless": (replaced_by("counting.safetensors", endless), ("counting.safetensors", "not a file")),
    "counting-twice": (edited("counting.json", lambda raw: raw | {"ngrams": {"words": ["a", "a"]}}), ("twice",)),
    "counting-of-other-ngrams": (edited("counting.json", lambda raw: raw | {"ngrams": {"words": ["a"]}}), ("match",)),
    "counting-numbers": (edited("counting.json", lambda raw: raw | {"ngrams": {"words": [1]}}), ("damaged",)),
    "counting-nan": (counting(lambda tensor: tensor * torch.nan), ("counting.safetensors", "NaN")),
    "counting-integers": (counting(lambda tensor: tensor.to(torch.int64)), ("counting.safetensors", "int64")),
    "counting-bfloat16": (counting(lambda tensor: tensor.to(torch.bfloat16)), ("counting.safetensors",)),
    "counting-transposed": (counting(lambda tensor: tensor[None]), ("counting.safetensors", "match")),
    "seen-missing": (replaced_by("seen.safetensors", void), ("seen.safetensors", "missing")),
    "seen-cut": (cut("seen.safetensors", 40), ("seen.safetensors", "cut short")),
    "seen-a-pipe": (replaced_by("seen.safetensors", os.mkfifo), ("seen.safetensors", "not a file")),
    "seen-of-floats": (seen(torch.ones(3)), ("seen.safetensors", "ascending")),
    "seen-of-another-name": (seen(torch.tensor([1, 3], dtype=torch.uint32), "words"), ("seen.safetensors", "damaged")),
    "seen-in-disorder": (seen(torch.tensor([3, 1], dtype=torch.uint32)), ("seen.safetensors", "ascending")),
    "seen-in-two-dimensions": (seen(torch.ones(2, 2, dtype=torch.uint32)), ("seen.safetensors", "ascending")),
    "unlike-of-nan": (edited("config.json", lambda raw: raw | {"unlike": raw["unlike"] | {"threshold": float("nan")}}),
                      ("config.json",)),
    "readers-of-no-weight": (readers(counting=NO_WEIGHT, body=NO_WEIGHT, transformer=NO_WEIGHT),
                             ("all have the weight 0", "damaged")),
    "readers-negative": (readers(counting={"weight": -1, "temperature": 1}), ("readers.counting.weight", "damaged")),
    "readers-infinite": (readers(counting={"weight": 1e400, "temperature": 1}), ("config.json",)),
    "readers-a-list": (config(readers=[]), ("readers", "damaged")),
    "weights-cut-in-the-header": (cut("model.safetensors", 30), ("cut short",)),
    "weights-cut-in-a-tensor": (cut("model.safetensors", 9000), ("cut short",)),
    "weights-empty": (written("model.safetensors", b""), ("cut short",)),
    "weights-header-too-long": (header_says(2**62), ("cut short or damaged",)),
    "weights-header-too-short": (header_says(7), ("cut short or damaged",)),
    "weights-a-folder": (replaced_by("model.safetensors", Path.mkdir), ("not a file",)),
    "weights-a-pipe": (replaced_by("model.safetensors", os.mkfifo), ("not a file",)),
    "weights-without-end": (replaced_by("model.safetensors", endless), ("not a file",)),
    "temperature-tiny": (target(temperature=1e-320), ("temperature", "damaged")),
    "temperature-zero": (target(temperature=0), ("temperature", "damaged")),
    "temperature-negative": (target(temperature=-1), ("temperature", "damaged")),
    "temperature-infinite": (target(temperature=float("inf")), ("finite", "damaged")),
    "temperature-nan": (target(temperature=float("nan")), ("finite", "damaged")),
    "temperature-huge": (target(temperature=1e308), ("temperature", "damaged")),
    "labels-twice": (target(labels=["a", "a"]), ("'a'", "twice")),
    "labels-of-one-name": (target(labels=[1, "1"]), ("'1'", "twice")),
    "labels-of-odd-types": (target(labels=["a", ["b"]]), ("labels.1", "damaged")),
    "labels-none": (target(labels=[None, "b"]), ("labels.0", "damaged")),
    "labels-empty": (target(labels=[]), ("labels", "damaged")),
    "labels-a-text": (target(labels="ab"), ("labels", "damaged")),
    "inputs-edges-fall": (inputs(PRICE | {"edges": [2, 1]}), ("config.json: inputs.columns.0.number.edges", "damaged")),
    "inputs-of-odd-kind": (inputs(PRICE | {"kind": "date"}), ("config.json: inputs.columns.0: ", "'date'", "damaged")),
    "inputs-twice": (inputs(PRICE, PRICE), ("config.json: inputs: the column 'price' occurs twice", "damaged")),
    "inputs-of-more-texts": (config(inputs={"texts": ["a", "b"]}), ("a row has 2 texts, and the model reads 1",)),
    "labels-more": (target(labels=["a", "b", "c"]), ("different models",)),
    "labels-100000": (target(labels=list(range(100_000))), ("different models",)),
    "d_model-4e6": (shape(d_model=4_000_000), ("config.json",)),
    "d_model-1e30": (shape(d_model=10**30), ("config.json",)),
    "d_model-of-9000-digits": (lambda folder: written(
        "config.json", (folder / "config.json").read_text().replace('"d_model": 64', '"d_model": ' + "9" * 9000)
    )(folder), ("config.json",)),
    "d_ff-1e12": (shape(d_ff=10**12), ("config.json",)),
    "n_layers-1e9": (shape(n_layers=10**9), ("config.json",)),
    "n_layers-one-more": (shape(n_layers=2), ("different models",)),
    "n_heads-1e9": (shape(n_heads=10**9, d_model=10**9), ("config.json",)),
    "max_seq_len-1e12": (shape(max_seq_len=10**12), ("max_seq_len",)),
    "max_seq_len-1e9": (shape(max_seq_len=10**9), ("max_seq_len",)),
    "max_seq_len-sinusoidal": (shape(max_seq_len=10**9, positions="sinusoidal"), ("max_seq_len",)),
    "max_seq_len-learned": (shape(max_seq_len=10**9, positions="learned"), ("config.json",)),
    "max_seq_len-flatten": (shape(max_seq_len=10**9, pooling="flatten"), ("config.json",)),
    "design-of-another": (shape(design="vinh-transformer"), ("config.json",)),
    "vocab_size-1e30": (config(vocab_size=10**30), ("tokenizer.json",)),
    "vocab_size-negative": (config(vocab_size=-1), ("vocab_size",)),
    "vocab_size-zero": (config(vocab_size=0), ("vocab_size",)),
    "vocab_size-a-fraction": (config(vocab_size=10.5), ("vocab_size", "damaged")),
    "new-words-of-nothing": (config(new_words=[
        {"word": "x", "definition": "y", "source": "given", "method": "map"}] * 5000), ("new_words",)),
    "config-nested": (written("config.json", f'{{"format": "glassformer-classifier", "data": {NESTED}}}'), ("nested",)),
    "config-nothing-but-nesting": (written("config.json", NESTED), ("nested",)),
    "config-empty": (written("config.json", ""), ("not readable JSON",)),
    "config-no-utf-8": (written("config.json", b"\xff\xfe{}"), ("not readable JSON",)),
    "config-of-1-GB": (replaced_by("config.json", sparse(1 << 30)), ("larger than 16 MiB",)),
    "config-a-folder": (replaced_by("config.json", Path.mkdir), ("not a file",)),
    "config-a-pipe": (replaced_by("config.json", os.mkfifo), ("not a file",)),
    "config-without-end": (replaced_by("config.json", endless), ("not a file",)),
    "tokenizer-id-1e9": (vocabulary(lambda vocab: renumbered(vocab, 10**9)), ("tokenizer.json", "missing")),
    "tokenizer-id-negative": (vocabulary(lambda vocab: renumbered(vocab, -1)), ("tokenizer.json", "damaged")),
    "tokenizer-id-twice": (vocabulary(lambda vocab: renumbered(vocab, 3)), ("tokenizer.json", "two tokens")),
    "tokenizer-pads": (edited("tokenizer.json", lambda raw: raw | {"padding": PADDING}), ("pads",)),
    "tokenizer-nested": (written("tokenizer.json", NESTED), ("tokenizer.json",)),
    "tokenizer-empty": (written("tokenizer.json", ""), ("tokenizer.json",)),
    "tokenizer-of-1-GB": (replaced_by("tokenizer.json", sparse(1 << 30)), ("larger than 128 MiB",)),
    "tokenizer-a-folder": (replaced_by("tokenizer.json", Path.mkdir), ("not a file",)),
    "tokenizer-a-pipe": (replaced_by("tokenizer.json", os.mkfifo), ("not a file",)),
    "tokenizer-of-no-model": (edited("tokenizer.json", lambda raw: raw | {"model": {"type": "LSTM"}}), ("tokenizer",)),
    "kept-rows-1e30": (kept(rows=10**30), ("held_out_answers.kept.rows", "damaged")),
    "kept-rows-fewer": (kept(rows=1), ("metrics.json has held-out answers for", "different models")),
    "kept-rows-odd": (kept(rows=7), ("held_out_answers.kept", "7 rows", "damaged")),
    "kept-numbers-of-other-rows": (kept(numbers=packed(bytes(2))), ("held_out_answers.kept", "damaged")),
    "kept-of-nothing": (kept(probs=""), ("held_out_answers.kept", "damaged")),
    "kept-of-no-letters": (kept(probs="\ud800"), ("metrics.json", "damaged")),
    "kept-of-half-a-byte": (kept(probs="a"), ("held_out_answers.kept", "damaged")),
    "kept-not-packed": (kept(truth="abcd"), ("held_out_answers.kept", "damaged")),
    "kept-of-100-MB": (kept(probs=packed(bytes(100 << 20))), ("held_out_answers.kept", "damaged")),
    "kept-of-more-labels": (kept(rows=2, probs=packed(bytes(20)), truth=packed(bytes(4))), ("5 labels", "config.json")),
    "kept-of-other-labels": (kept(rows=1, probs=packed(bytes(4)), truth=packed(b"\7\0")), ("8 labels", "config.json")),
    "metrics-a-list": (written("metrics.json", "[]"), ("metrics.json", "damaged")),
    "metrics-nan": (written("metrics.json", '{"best_epoch": NaN}'), ("metrics.json", "NaN")),
    "metrics-of-odd-types": (written("metrics.json", '{"history": [{"epoch": []}]}'), ("history.0.epoch", "damaged")),
    "metrics-without-epochs": (written("metrics.json", '{"history": [{"train_loss": 1}]}'), ("epoch", "damaged")),
    "metrics-without-rows": (written("metrics.json", '{"history": "<b>"}'), ("history", "damaged")),
    "metrics-nested": (written("metrics.json", NESTED), ("metrics.json", "nested")),
    "metrics-a-pipe": (replaced_by("metrics.json", os.mkfifo), ("metrics.json", "not a file")),
    "data-a-list": (config(data=[]), ("data", "damaged")),
    "data-read-as-a-list": (config(data={"read_as": [1]}), ("data.read_as", "damaged")),
    "data-read-as-odd": (config(data={"read_as": {"train": 7}}), ("data.read_as.train", "damaged")),
    "data-column-a-number": (config(data={"text_column": 3}), ("data.text_column", "damaged")),
    "data-doubts-a-number": (config(data={"encoder_doubts": 5}), ("data.encoder_doubts", "damaged")),
    "data-rows-a-text": (config(data={"rows": "many"}), ("data.rows", "damaged")),
    "recipe-seed-a-text": (config(recipe={"training": {"seed": "x"}}), ("recipe.training.seed", "damaged")),
    "recipe-validation-odd": (config(recipe={"validation": {"fraction": 7}}), ("recipe.validation", "damaged")),
}  # fmt: skip

REFUSED: dict[str, tuple[Tamper, tuple[str, ...]]] = {
    "tokenizer-slow-regex": (cutter(split("(a+)+$")), ("pre-tokenizer", "(a+)+$")),
    "tokenizer-hidden-regex": (
        cutter({"type": "Sequence", "pretokenizers": [BYTES, split("(a|a)*$")]}), ("pre-tokenizer", "(a|a)*$")
    ),
    "tokenizer-slow-normalizer": (
        normalizer({"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}), ("normalizer", "(a+)+$")
    ),
    "tokenizer-longer-texts": (normalizer(LONGER), ("normalizer", "longer")),
    "tokenizer-prepends": (normalizer({"type": "Prepend", "prepend": "x" * 100}), ("normalizer", "Prepend")),
    "tokenizer-doubles-often": (
        cutter({"type": "Sequence", "pretokenizers": [BYTES] * 40}), ("pre-tokenizer", "41 steps")
    ),
    "tokenizer-slow-decoder": (
        edited("tokenizer.json", lambda raw: raw | {"decoder": LONGER | {"pattern": {"Regex": "(a+)+$"}}}),
        ("decoder", "(a+)+$"),
    ),
    "readers-three": (readers(third={"weight": 1.0}), ("no installed package has a reader 'third'",)),
    "format-of-another": (config(format="another-program"), ("another program",)),
    "config-a-list": (written("config.json", "[1]"), ("another program",)),
}  # fmt: skip

HOSTILE = [
    pytest.param(tamper, words, code, id=name, marks=[pytest.mark.mended] if name.startswith("kept-") else [])
    for cases, code in ((DAMAGED, 1), (REFUSED, 2))
    for name, (tamper, words) in cases.items()
]


@pytest.mark.parametrize(("tamper", "words", "code"), HOSTILE)
@pytest.mark.usefixtures("unsealed")
def test_predict_refuses(tamper: Tamper, words: tuple[str, ...], code: int, folder: Path) -> None:
    tamper(folder)
    outcome = glassformer("predict", folder, "a good film", "a" * 40 + "!", "--json")
    answered(outcome, *words, code=code)
    assert "alloc" not in outcome.err  # refused before memory was asked for


@pytest.mark.parametrize(
    "name",
    ["nan-weights", "int8-weights", "n_layers-1e9", "config-nested", "config-a-pipe", "tokenizer-id-twice",
     "labels-twice", "max_seq_len-1e12", "metrics-a-list", "data-read-as-odd"],
)  # fmt: skip
@pytest.mark.parametrize("command", ["evaluate", "train", "export"])
def test_evaluation_export_and_a_start_from_it_refuse_too(
    name: str, command: str, folder: Path, reviews: Trained, tmp_path: Path
) -> None:
    tamper, words = DAMAGED[name]
    tamper(folder)
    out = tmp_path / "out"
    arguments = {
        "evaluate": (folder, reviews.table),
        "train": ("--init", folder, reviews.table),
        "export": (folder, "--format", "transformers"),
    }
    with nothing_lost(reviews.folder):
        outcome = glassformer(command, *arguments[command], "--out", out)
    answered(outcome, *words, code=1)
    assert not out.exists()


@pytest.mark.parametrize(
    ("tamper", "words", "code"),
    [
        pytest.param(*DAMAGED[name], 1, id=name)
        for name in ("nan-weights", "int8-weights", "d_model-1e30", "n_layers-1e9", "max_seq_len-1e12", "config-nested",
                     "vocab_size-1e30", "new-words-of-nothing", "metrics-a-list")
    ]
    + [pytest.param(*REFUSED["tokenizer-slow-decoder"], 2, id="slow-decoder")],
)  # fmt: skip
def test_generate_refuses(tamper: Tamper, words: tuple[str, ...], code: int, writer: Path) -> None:
    tamper(writer)
    answered(glassformer("generate", writer, "the"), *words, code=code)


@pytest.mark.mended
def test_weights_for_which_no_file_can_be_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = "unable to open file <x> in read-only mode: Too many open files (24)"  # as torch says it
    monkeypatch.setattr(weights_file, "load_file", Mock(side_effect=RuntimeError(why)))
    answered(glassformer("explain", folder, "a good film"), "model.safetensors", why, code=1)


def listed(*names: str) -> Tamper:
    """Files of no known name, listed among the checksums."""

    def tamper(folder: Path) -> None:
        with (folder / SUMS_FILE).open("a") as file:
            file.writelines(f"{'0' * 64}  {name}\n" for name in names)

    return tamper


@pytest.mark.mended
@pytest.mark.parametrize("command", ["predict", "verify"])
def test_a_file_of_holes_is_not_read_for_hours(command: str, folder: Path) -> None:
    sparse(1 << 40)(folder / "big")
    listed("big")(folder)
    said = glassformer(command, folder, *(["a good film"] if command == "predict" else []))
    answered(said, f"{folder / 'big'} is damaged: 1,099,511.6 MB of its 1,099,511.6 MB were never written", code=1)


@pytest.mark.mended
@pytest.mark.parametrize("command", ["predict", "verify"])
def test_a_file_of_many_names_is_not_read_for_each(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "big").write_bytes(b"x")
    (folder / "link").symlink_to("big")
    read: list[Path] = []

    def counted(files: Sequence[Path]) -> str:
        read.extend(path for path in files if path.name in ("big", "link"))
        return sha256_of(files)

    monkeypatch.setattr(checksums, "sha256_of", counted)
    listed("link", *("./" * number + "big" for number in range(300)))(folder)
    answered(glassformer(command, folder, *(["a good film"] if command == "predict" else [])), "link", code=1)
    assert len(read) <= 2  # each time that the folder is loaded


RECORDS: dict[str, tuple[Tamper, tuple[str, ...]]] = {
    "data-a-number": (config(data=5), ("config.json: data", "damaged")),
    "data-a-list": (config(data=["x"]), ("config.json: data", "damaged")),
    "records-source-a-list": (config(data={"source": ["x"]}), ("data.source", "damaged")),
    "records-fingerprint-a-number": (config(data={"fingerprint": 5}), ("data.fingerprint", "damaged")),
    "init-a-number": (config(init=5), ("config.json: init", "damaged")),
    "recipe-a-list": (config(recipe=[]), ("config.json: recipe", "damaged")),
}
UNNAMED: dict[str, Tamper] = {
    "records-of-no-name": config(data={"x": []}, init={"from": "lm"}),
    "records-gone": config(data={"source": "nosuch"}, init={}),
    "records-of-a-long-name": config(data={"source": "x" * 100_000}, init={}),
    "records-of-a-null-byte": config(data={"source": "a\0b"}, init={}),
    "records-without-end": config(data={"source": "/dev/zero"}, init={}),
}


@pytest.mark.parametrize("command", ["generate", "learn-word", "sft", "rl"])
@pytest.mark.parametrize("name", RECORDS)
def test_odd_records_of_a_language_model_are_refused(name: str, command: str, writer: Path, tmp_path: Path) -> None:
    tamper, words = RECORDS[name]
    tamper(writer)
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "a", "completion": "b"}\n')
    (tmp_path / "judge.py").write_text("def score(texts):\n    return [0.0 for _ in texts]\n")
    arguments: dict[str, tuple[object, ...]] = {
        "generate": ("generate", writer, "the"),
        "learn-word": ("learn-word", writer, "zorp", "--definition", "the cat"),
        "sft": ("align", "sft", writer, tmp_path / "pairs.jsonl", "--out", tmp_path / "out"),
        "rl": ("align", "rl", writer, "--reward", f"{tmp_path}/judge.py:score", "--out", tmp_path / "out"),
    }
    with nothing_lost(tmp_path):
        answered(glassformer(*arguments[command]), *words, code=1)


@pytest.mark.parametrize("name", UNNAMED)
@pytest.mark.usefixtures("unsealed")
def test_steering_without_the_prompts_of_the_model_asks_for_them(name: str, writer: Path, tmp_path: Path) -> None:
    UNNAMED[name](writer)
    (tmp_path / "judge.py").write_text("def score(texts):\n    return [0.0 for _ in texts]\n")
    with nothing_lost(tmp_path):
        outcome = glassformer(
            "align", "rl", writer, "--reward", f"{tmp_path}/judge.py:score", "--out", tmp_path / "out"
        )
        answered(outcome, "--prompts")


HARMLESS: dict[str, Tamper] = {
    "float16-weights": weights(lambda tensor: tensor.half()),
    "bfloat16-weights": weights(lambda tensor: tensor.bfloat16()),
    "float64-weights": weights(lambda tensor: tensor.double()),
    "no-metrics": lambda folder: (folder / "metrics.json").unlink(),
    "empty-metrics": written("metrics.json", "{}"),
    "no-data": config(data={}),
    "no-recipe": config(recipe={}),
}


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.usefixtures("unsealed")
def test_what_does_no_harm_is_answered(name: str, folder: Path, reviews: Trained) -> None:
    HARMLESS[name](folder)
    outcome = glassformer("predict", folder, "a good film", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document
    outcome = glassformer("evaluate", folder, reviews.table, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(DAMAGED["nan-weights"][0], id="nan-weights"),
        pytest.param(DAMAGED["config-nested"][0], id="config-nested"),
    ],
)
def test_a_damaged_model_is_not_trained_over_unasked(damage: Tamper, folder: Path, reviews: Trained) -> None:
    damage(folder)
    with nothing_lost(folder):
        outcome: Outcome = glassformer("train", reviews.table, "--out", folder)
    answered(outcome, str(folder))


def test_figures_of_training_are_not_replaced_by_those_of_an_evaluation(folder: Path, reviews: Trained) -> None:
    with nothing_lost(folder):
        answered(glassformer("evaluate", folder, reviews.table, "--out", folder), "is a model folder", "metrics.json")


def test_figures_of_another_evaluation_do_not_matter(folder: Path, reviews: Trained) -> None:
    evaluation = folder / "evaluation"
    evaluation.mkdir()
    (evaluation / "metrics.json").write_text(NESTED)
    assert glassformer("evaluate", folder, reviews.table).code == 0
