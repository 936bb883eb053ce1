"""The frame of every benchmark: its arguments, the models that it keeps, its provenance and its result file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# glassformer is imported inside functions, because `rows` measures what its import takes.
ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
Tables = Callable[[Mapping[str, Any]], Iterable[str]]
WIDTH = 120  # of a line of a result file
AS_INSTALLED = {"GOMP_SPINCOUNT": "300000", "KMP_BLOCKTIME": "200"}
"""How long threads spin where `glassformer` has not said it: the defaults of GNU's and LLVM's library."""
_NUMBER = r"(?:-?\d[\d.e+-]*|null)"
_NUMBERS = re.compile(
    rf"\[\n *({_NUMBER}(?:,\n *{_NUMBER})*)\n *\]"
)  # strings have no line breaks, so it is none of them


def arguments(doc: str | None, *, data: bool = True) -> argparse.ArgumentParser:
    """Return a parser with the arguments that all benchmarks have. With `data`, the user names a known data set."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data:
        parser.add_argument("data", help="a known data set")
    parser.add_argument("--quick", action="store_true", help="a short trial; its result is written to WORK/trial")
    parser.add_argument("--work", type=Path, default=Path("runs/benchmarks"), help="folder for finished models")
    return parser


def again(folder: Path) -> dict[str, Any]:
    """Return how a run in this folder begins: an unfinished one goes on, anything else is replaced."""
    from glassformer.prediction.folder_format import is_unfinished

    resume = is_unfinished(folder)
    return {"resume": resume, "overwrite": not resume}


def threads_to_try() -> list[int]:
    """Return the numbers of threads with which a contestant is measured: one, and one for each core."""
    return sorted({1, os.cpu_count() or 1})


def environment(threads: int, *, ours: bool) -> dict[str, str]:
    """Return the environment of a contestant with so many threads. Others wait for each other as users have them."""
    several = {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": str(threads > 1).lower()}
    return os.environ | several | ({} if ours else AS_INSTALLED)


def as_typed() -> dict[str, str]:
    """Return the environment of a command as a user would type it, without a word about threads."""
    return {name: value for name, value in os.environ.items() if name not in {"OMP_NUM_THREADS", *AS_INSTALLED}}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A running benchmark.

    Attributes:
        work: the folder that keeps finished models. A stopped benchmark finds them there when it is run again.
        quick: whether this is a short trial.
        commit: the commit of the code that runs. Another one may be checked out before the result is written.
    """

    work: Path
    quick: bool
    commit: str

    def model(self, name: str, decided_by: Mapping[str, Any], make: Callable[[Path], object]) -> Path:
        """Return the folder of a finished model. If there is none yet, `make` writes it.

        Args:
            decided_by: everything that decides the model besides the code: see `keeper.run_key`.
        """
        from glassformer.experiments.keeper import keep, read_kept, run_key

        folder = self.work / f"{name}-{run_key(decided_by)}"
        if read_kept(folder / "made-of.json", dict) is None:
            make(folder)
            keep(folder / "made-of.json", decided_by)
        return folder

    def kept(self, name: str, decided_by: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        """Return finished figures: those of an earlier call, or what `make` returns. Arguments are those of `model`."""
        from glassformer.experiments.keeper import keep, read_kept, run_key

        file = self.work / f"{name}-{run_key(decided_by)}.json"
        found: Any = read_kept(file, object)
        if found is None:
            found = make()
            keep(file, found)
        return found

    def write(self, name: str, document: Mapping[str, Any], tables: Tables | None = None) -> None:
        """Write the result with its provenance to `benchmarks/results/NAME.json`, and print its `tables`."""
        if tables is not None:
            print("\n\n".join(tables(document)))
        whole = {"benchmark": name, **document, **provenance(self.commit)}
        self.write_as_it_is(name, whole)

    def write_as_it_is(self, name: str, document: Mapping[str, Any]) -> None:
        file = (self.work / "trial" if self.quick else RESULTS) / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_text(document), encoding="utf-8")
        print(file)


def as_text(document: Mapping[str, Any]) -> str:
    """Return a result as JSON: one value on a line, but a list of numbers on one line if it fits."""
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def joined(found: re.Match[str]) -> str:
        line = "[" + re.sub(r"\n *", " ", found[1]) + "]"
        before = found.start() - text.rfind("\n", 0, found.start()) - 1
        return line if before + len(line) < WIDTH else found[0]  # a comma may follow

    return _NUMBERS.sub(joined, text)


@contextmanager
def running(options: argparse.Namespace) -> Iterator[Experiment]:
    """Run a benchmark. A user's mistake and Ctrl-C end it with one sentence."""
    from glassformer.errors import GlassformerError
    from glassformer.models.memory import keep_large_buffers
    from glassformer.training.loop import InterruptedTraining

    keep_large_buffers()  # every speed is then measured in the same way, also where no model was trained before
    try:
        yield Experiment(work=options.work, quick=options.quick, commit=commit())
    except (InterruptedTraining, KeyboardInterrupt):
        sys.exit(f"stopped; finished models are kept in {options.work}, and the same command goes on")
    except GlassformerError as error:
        sys.exit(f"error: {error}")


def provenance(commit_of_run: str) -> dict[str, Any]:
    """Return the command, the machine, the versions, the commit and the time, for a result file."""
    import polars
    import tokenizers
    import torch

    from glassformer.evaluation.record import Machine
    from glassformer.training.unfinished import versions

    return {
        "command": " ".join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *_without_work(sys.argv[1:])]),
        "machine": Machine.here().model_dump() | {"threads": torch.get_num_threads(), "processor": processor()},
        "versions": versions() | {"polars": polars.__version__, "tokenizers": tokenizers.__version__},
        "commit": commit_of_run,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _without_work(arguments: list[str]) -> list[str]:
    """Leave out the folder for finished models: it does not decide the result."""
    if "--work" not in arguments:
        return arguments
    at = arguments.index("--work")
    return arguments[:at] + arguments[at + 2 :]


def commit() -> str:
    """Return the commit that is checked out, and say if the code, the recipes or the benchmarks differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "recipes", "benchmarks/*.py")
    return git("rev-parse", "HEAD") + (" with uncommitted changes" if changed else "")


def processor() -> str:
    """Return the kernel's name of the processor, or an empty string."""
    file = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)", file.read_text() if file.exists() else "", re.MULTILINE)
    return found[1] if found else platform.processor()
