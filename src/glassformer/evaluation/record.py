"""The base of the records of an evaluation, a number with its interval, and the machine."""

import os
import platform
from typing import Self

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen, keyword-only record; `model_dump_json` writes it, `model_validate_json` reads it back."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Estimate(Record):
    """A number with its 95% interval: percentile bootstrap, or Wilson's for a share of rows."""

    value: float
    low: float
    high: float

    @property
    def turned(self) -> Self:
        """The same difference from the other side."""
        return self.model_copy(update={"value": -self.value, "low": -self.high, "high": -self.low})


class Machine(Record):
    """The kind of machine, without its name."""

    architecture: str
    system: str
    cores: int
    python: str

    @classmethod
    def here(cls) -> Self:
        """Describe this machine."""
        return cls(
            architecture=platform.machine(),
            system=platform.system(),
            cores=os.cpu_count() or 1,
            python=platform.python_version(),
        )
