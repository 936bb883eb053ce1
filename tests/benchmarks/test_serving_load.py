import asyncio
import json

import pytest

from benchmarks.serving_clients import CLOSED, KINDS, load
from benchmarks.serving_load import comparing, latencies, outcomes
from benchmarks.serving_peers import bert_like
from benchmarks.tables_serving import serving_tables
from glassformer.models.build import parameter_count
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.predictor import Predictor
from glassformer.serving import listening
from tests.browser.serving import running
from tests.explanation.test_explain import two_readers
from tests.serving.samples import served

TEXTS = ["the plot was good", "not good", "a wooden plot, but i loved it"]


def test_slow_broken_and_hostile_requests_get_what_they_should_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listening, "_SECONDS_WITHOUT_REQUEST", 1)
    right = comparing(Predictor(two_readers()), TEXTS)
    plan = [(kind, number % 3) for number in range(3) for kind in KINDS for _ in range(5 if kind == "one text" else 1)]
    with running(served(trained=two_readers())) as url:
        sent = asyncio.run(load(url, plan, TEXTS, right, clients=8))
    assert len(sent) == len(plan)
    for each in sent:
        assert each.status in KINDS[each.kind].expected, each
        assert each.right is not False
    assert latencies(sent)["not_right"] == 0
    assert outcomes("half of a request", sent) == {"sent": 3, "statuses": {str(CLOSED): 3}}


def test_an_answer_that_differs_is_seen() -> None:
    predictor = Predictor(two_readers())
    right = comparing(predictor, TEXTS)
    answer = next(predictor.answer([TEXTS[0]]).records())
    assert right(0, json.dumps({"answers": [answer]}).encode())
    assert not right(1, json.dumps({"answers": [answer]}).encode())
    assert not right(0, json.dumps({"answers": [answer | {"confidence": answer["confidence"] + 3e-6}]}).encode())


def test_the_pipeline_has_a_model_of_the_same_size() -> None:
    config = two_readers().config
    assert isinstance(config.model, ModelConfig)
    ours = parameter_count(config.model, config.vocab_size, config.n_classes)
    theirs = bert_like(config.model, config.vocab_size, config.n_classes)
    blocks = sum(weight.numel() for weight in theirs.bert.encoder.parameters())
    assert ours == pytest.approx(blocks + config.vocab_size * config.model.d_model, rel=0.2)


def test_the_tables_of_a_result() -> None:
    row = {"clients": 64, "requests": 10, "per_second": 1234.5, "p50": 1.0, "p95": 2.0, "p99": 3.0, "not_right": 0}
    found = {
        "data": "polarity", "requests": 10, "parameters": 1000, "parameters_of_pipeline": 1100, "clients": 64,
        "rounds": 3, "sooner": [2.14, 1.86, 2.0],
        "texts": {"number": 3, "words": 4.0}, "servers": [{"server": "ours", "many": row, "one": row | {"clients": 1}}],
        "hostile": row | {"seconds": 1.0, "lost": 0, "memory_mb": [1.0] * 5,
                          "kinds": [{"kind": "no HTTP", "sent": 2, "statuses": {"400": 1, "None": 1}}]},
    }  # fmt: skip
    text = "\n\n".join(serving_tables(found))
    assert "| ours | 64 | 1,234 | 1.0 ms | 2.0 ms | 3.0 ms |" in text
    assert "requests of 1 kinds, some hostile, in 1 s" in text
    assert "our p95 came 1.9 to 2.1 times as soon" in text
