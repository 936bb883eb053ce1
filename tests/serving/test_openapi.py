"""The server answers what its OpenAPI description allows, and refuses the rest as it says."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from glassformer.serving.feedback import FeedbackFile
from tests.browser.serving import running
from tests.serving.samples import served

INFER = "/v2/models/{name}/infer"
POSTED = ("/predict", "/explain", "/counterfactual", "/heads", "/attention", "/table", "/feedback", INFER)
PROTOCOL = ("/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/{name}", "/v2/models/{name}/ready")
OTHERS = ("/trace", "/time-lapse", "/model", "/health", "/ready", "/metrics", "/drift", *PROTOCOL)


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    feedback = FeedbackFile(tmp_path_factory.mktemp("kept") / "feedback.jsonl")
    with running(served(), feedback=feedback) as url:
        described: Any = schemathesis.openapi.from_url(f"{url}openapi.json")
        yield {found.ok().path: found.ok() for found in described.get_all_operations()}


def test_every_route_is_tried(operations: dict[str, Any]) -> None:
    assert sorted(operations) == sorted([*POSTED, *OTHERS])


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        *((path, GenerationMode.POSITIVE) for path in (*POSTED, *OTHERS)),
        *((path, GenerationMode.NEGATIVE) for path in POSTED),
    ],
)
def test_the_server_keeps_to_its_description(operations: dict[str, Any], path: str, mode: GenerationMode) -> None:
    # A description cannot say that a text must not be empty, or that a label has to be one of the model's.
    never = CHECKS.get_by_names(["positive_data_acceptance"])

    @settings(
        max_examples=12, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operations[path].as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        case.call_and_validate(excluded_checks=never, timeout=60)  # the machine may be busy

    check()
