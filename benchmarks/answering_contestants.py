"""Let one contestant of benchmarks/answering_speed.py answer, in a process of its own:

    python -m benchmarks.answering_contestants NAME FOLDER           how long it takes
    python -m benchmarks.answering_contestants NAME FOLDER WAY       the memory that it takes, if it answers in this way

The process imports only what the contestant needs: its memory is that of the contestant.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

WARM_UP = 30
BATCH_SIZES = (1, 8, 32, 64)  # of the pipeline, which is given its best
BERT_BATCH = 32  # of the BERT with ONNX Runtime
KEPT = "made-of.json"  # the benchmark's own file in a model folder

Answer = Callable[[Sequence[str]], object]


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A loaded contestant.

    Attributes:
        files: all that it was loaded from.
        one: answers a text.
        ways: answer many texts; the fastest way counts.
    """

    files: Iterable[Path]
    one: Answer
    ways: Sequence[Answer]


def main() -> None:
    """Load a contestant, let it answer the texts of the folder, and print its figures as JSON."""
    name, folder, *way = sys.argv[1:]
    texts: list[str] = json.loads((Path(folder) / "texts.json").read_text(encoding="utf-8"))
    contestant = CONTESTANTS[name](Path(folder))
    print(json.dumps(memory(contestant, texts, int(way[0])) if way else times(contestant, texts)))


def times(contestant: Contestant, texts: Sequence[str]) -> dict[str, Any]:
    """Answer each text by itself, then all of them at once, in every way."""
    for text in texts[:WARM_UP]:
        contestant.one([text])
    return {
        "milliseconds": [seconds(partial(contestant.one, [text])) * 1000 for text in texts],
        "seconds": [seconds(partial(answer, texts)) for answer in contestant.ways],
        "bytes": sum(file.stat().st_size for file in contestant.files if file.name != KEPT),
    }


def memory(contestant: Contestant, texts: Sequence[str], way: int) -> dict[str, int]:
    """Answer all texts at once, and return the most memory that this process has had.

    Linux counts it from the start of this program (VmHWM). The figure of `getrusage` may be that of the parent.
    """
    contestant.ways[way](texts)
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found is not None
    return {"peak_memory_bytes": int(found[1]) * 1024}


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ours(name: str, place: Path) -> Contestant:
    """Answer with a model folder, or with an export of it."""
    from glassformer.prediction.load_answering import load_answering

    predictor = load_answering(place / name, device="cpu")
    return Contestant(files=(place / name).rglob("*"), one=predictor.answer, ways=[predictor.answer])


def pipeline(place: Path) -> Contestant:
    """Answer with a pipeline of `transformers`."""
    import transformers

    bert = str(place / "bert")
    classify = transformers.pipeline("text-classification", model=bert, tokenizer=bert, device="cpu")
    ways = [partial(classify, batch_size=size, truncation=True) for size in BATCH_SIZES]
    return Contestant(files=(place / "bert").rglob("*"), one=partial(classify, truncation=True), ways=ways)


def onnx_bert(place: Path) -> Contestant:
    """Answer with ONNX Runtime and an export of the BERT, in batches of texts of similar length."""
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    file = place / "bert" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    settings_of = json.loads((place / "bert" / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokenizer.enable_truncation(settings_of["model_max_length"])
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    session = onnxruntime.InferenceSession(str(place / "bert.onnx"), settings, providers=["CPUExecutionProvider"])

    def answer(texts: Sequence[str]) -> None:
        encoded = [each.ids for each in tokenizer.encode_batch_fast(list(texts))]
        order = sorted(range(len(texts)), key=lambda row: len(encoded[row]))
        for first in range(0, len(order), BERT_BATCH):
            chosen = [encoded[row] for row in order[first : first + BERT_BATCH]]
            ids = np.zeros((len(chosen), max(map(len, chosen))), np.int64)
            mask = np.zeros_like(ids)
            for place_of, row in enumerate(chosen):
                ids[place_of, : len(row)], mask[place_of, : len(row)] = row, 1
            session.run(None, {"input_ids": ids, "attention_mask": mask})

    return Contestant(files=[file, *place.glob("bert.onnx*")], one=answer, ways=[answer])


def fasttext(place: Path) -> Contestant:
    import fasttext as library

    model = library.load_model(str(place / "fasttext.bin"))

    def answer(texts: Sequence[str]) -> None:
        for text in texts:
            model.f.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict")

    return Contestant(files=[place / "fasttext.bin"], one=answer, ways=[answer])


def tfidf(place: Path) -> Contestant:
    import joblib

    fitted = joblib.load(place / "tfidf.joblib")
    return Contestant(files=[place / "tfidf.joblib"], one=fitted.predict_proba, ways=[fitted.predict_proba])


CONTESTANTS: dict[str, Callable[[Path], Contestant]] = {
    "glassformer": partial(ours, "alone"),
    "glassformer, onnx": partial(ours, "onnx"),
    "glassformer, onnx-int8": partial(ours, "onnx-int8"),
    "glassformer, all readers": partial(ours, "all"),
    "glassformer, counting and the body": partial(ours, "counting-body"),
    "glassformer, counting alone": partial(ours, "counting"),
    "glassformer, the body alone": partial(ours, "body"),
    "transformers pipeline, BERT": pipeline,
    "ONNX Runtime, BERT": onnx_bert,
    "fastText": fasttext,
    "TF-IDF + logistic regression": tfidf,
}


if __name__ == "__main__":
    main()
