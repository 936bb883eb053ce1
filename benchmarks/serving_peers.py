"""Servers to compare with: `python -m benchmarks.serving_peers NAME MODEL` prints its address and answers.

`one at a time` is `glassformer serve` that answers no two requests together. `pipeline` is what many people write
first: FastAPI around a pipeline of `transformers`, run by uvicorn as it comes, but without a line for each request. It
has a BERT of the same size with random weights, on which its work does not depend, and the tokenizer of the model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from glassformer.data.tokenizers import PAD
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from glassformer.serving.listening import answer_requests, listen
from glassformer.serving.served_model import load_models


def main() -> None:
    """Answer until the process is stopped."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    app = {"one at a time": one_at_a_time, "pipeline": pipeline_app}[name](folder)
    address = listen("127.0.0.1", 0)
    print(json.dumps({"url": address.url}), flush=True)
    if name == "pipeline":
        uvicorn.run(app, fd=address.listener.fileno(), log_level="error", access_log=False)
    else:
        answer_requests(app, address, on_finishing=lambda _: None)


def one_at_a_time(folder: Path) -> FastAPI:
    """Return the server without micro-batching."""
    return create_app(load_models([folder], device="cpu"), limits=Limits(batch_characters=0))


class _Text(BaseModel):
    text: str


def pipeline_app(folder: Path) -> FastAPI:
    """Return a plain server around a pipeline."""
    import transformers

    trained = load_model(folder, CLASSIFIER)
    model = bert_like(trained.config.model, trained.config.vocab_size, trained.config.n_classes)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        pad_token=PAD,
        model_max_length=trained.config.model.max_seq_len,
        model_input_names=["input_ids", "attention_mask"],
    )
    classify = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")
    app = FastAPI()

    @app.post("/predict")
    async def predict(body: _Text) -> Any:
        return classify(body.text, truncation=True)

    return app


def bert_like(config: Any, vocab_size: int, n_classes: int) -> Any:
    """Return a BERT of the same depth, width and heads. A gated feed-forward has three matrices, and BERT's has two."""
    import transformers

    gated = str(config.feed_forward).endswith("glu")
    return transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=vocab_size,
            hidden_size=config.d_model,
            num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads,
            intermediate_size=config.d_ff * 3 // 2 if gated else config.d_ff,
            max_position_embeddings=config.max_seq_len,
            num_labels=n_classes,
        )
    ).eval()


if __name__ == "__main__":
    main()
