"""What every result file says of itself: the command, the machine, the versions, the commit and the time."""

from __future__ import annotations

import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def provenance(at: str) -> dict[str, Any]:
    """The record of a benchmark that has just ended.

    Args:
        at: `commit()` when it began: of the code that ran, not of what was committed meanwhile.
    """
    import polars  # late, as all of these are: what it takes to import them is measured too
    import tokenizers
    import torch

    from glassformer.evaluation.result import Machine
    from glassformer.training.unfinished import versions

    return {
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "machine": Machine.here().model_dump() | {"threads": torch.get_num_threads(), "processor": processor()},
        "versions": versions() | {"polars": polars.__version__, "tokenizers": tokenizers.__version__},
        "commit": at,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def commit() -> str:
    """The commit that is checked out, and whether its code, recipes or benchmark scripts are changed here."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "recipes", "benchmarks/*.py")
    return git("rev-parse", "HEAD") + (" with uncommitted changes" if changed else "")


def processor() -> str:
    """What the kernel calls the processor, where it says."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
