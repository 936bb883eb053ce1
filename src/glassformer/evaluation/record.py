"""The base of the records of an evaluation, and a number with its interval."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen, keyword-only record; `model_dump_json` writes it, `model_validate_json` reads it back."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Estimate(Record):
    """A number with its 95% interval: percentile bootstrap, or Wilson's for a share of rows."""

    value: float
    low: float
    high: float
