"""What every benchmark does around its question: arguments, parts that are kept, provenance, the result file."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

# glassformer is imported in the functions: what it takes to import it is measured too.
Part = TypeVar("Part")
ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """The arguments of a benchmark on a known data set."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a known data set")
    parser.add_argument("--rows", type=int, help="a trial on so many rows of each split; its result stays in --work")
    parser.add_argument("--work", type=Path, default=Path("runs/benchmarks"), help="folder for what is finished")
    return parser


class Experiment:
    """A benchmark that runs. An error of the user's, and Ctrl-C, end it with one sentence.

    Attributes:
        commit: of the code that runs, not of what is committed meanwhile.
        work: the folder in which finished parts are kept.
    """

    def __init__(self, options: argparse.Namespace | None = None) -> None:
        self.commit = commit()
        self.work: Path = Path("runs/benchmarks") if options is None else options.work
        self.trial = options is not None and options.rows is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        from glassformer.errors import GlassformerError
        from glassformer.training.loop import InterruptedTraining

        if isinstance(error, InterruptedTraining | KeyboardInterrupt):
            sys.exit(f"stopped; what is done is kept in {self.work}, and the same command goes on")
        if isinstance(error, GlassformerError):
            sys.exit(f"error: {error}")

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        """Write the result to `benchmarks/results/NAME.json`; that of a trial stays in `work`."""
        file = (self.work / "trial" if self.trial else RESULTS) / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**document, **provenance(self.commit)}, indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")
        print(file)


def part(work: Path, name: str, decided_by: Mapping[str, Any], kind: type[Part], make: Callable[[], Part]) -> Part:
    """A finished part of a benchmark: as it is kept, or made now and kept.

    Args:
        name: what it is called in `work` and on standard error.
        decided_by: all that decides it, the code apart: see `keeper.run_key`.
        kind: what `make` returns, a record or `dict`.
    """
    from glassformer.experiments.keeper import keep, read_kept, run_key, source_digest

    key = run_key({**decided_by, "benchmarks": source_digest(ROOT / "benchmarks")})
    file = work / f"{name}-{key}.json"
    found = read_kept(file, kind)
    if found is None:
        print(f"{name} …", file=sys.stderr, flush=True)
        found = make()
        keep(file, found)
    return found


def model_folder(work: Path, name: str, decided_by: Mapping[str, Any], make: Callable[[Path], object]) -> Path:
    """The folder of a finished model: as it is kept, or filled by `make` now."""
    from glassformer.experiments.keeper import keep, read_kept, run_key

    folder = work / f"{name}-{run_key(decided_by)}"
    if read_kept(folder / "made-of.json", dict) is None:
        make(folder)
        keep(folder / "made-of.json", decided_by)
    return folder


def provenance(at: str) -> dict[str, Any]:
    """What every result file says of itself: the command, the machine, the versions, the commit and the time."""
    import polars
    import tokenizers
    import torch

    from glassformer.evaluation.result import Machine
    from glassformer.training.unfinished import versions

    return {
        "command": " ".join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
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
