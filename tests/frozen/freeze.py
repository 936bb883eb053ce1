"""Freeze model folders of this version, with their answers: `python -m tests.frozen.freeze`, once for each release.

A folder for each kind of target and of inputs, in which counting and a transformer answer, one with word vectors, one
for each small published design, and a language model.
"""

import json
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

import glassformer as package
from glassformer.data.checksums import write_sums
from glassformer.prediction.folder_names import REPORT_FILE
from tests.cli.terminal import glassformer
from tests.matrix.samples import INPUTS, SHORT, SMALL, TARGETS, let_both_answer, rows, write

HERE = Path(__file__).parent
OTHER_INPUTS = {"two-texts": ("classes", "several texts"), "columns": ("number", "text with columns")}
DESIGNS = (
    "bui-dang-columns", "notes-decoder", "vinh-attention", "vinh-mlp", "vinh-recurrent", "vinh-transformer",
)  # fmt: skip
LANGUAGE_MODEL = "language-model"
WITHOUT_BODY = ("--set", "model.body=none")


def main() -> None:
    out = HERE / package.__version__
    if out.exists():
        raise SystemExit(f"{out}: frozen already; raise the version first")
    with tempfile.TemporaryDirectory() as name, chdir(name):  # folders keep the paths that they were trained with
        answers = {}
        for kind, (target, inputs) in ({kind: (kind, "one text") for kind in TARGETS} | OTHER_INPUTS).items():
            answers[kind] = freeze(Path(kind), target, inputs, *SMALL, *SHORT, *WITHOUT_BODY, both=True)
        answers["body"] = freeze(Path("body"), "classes", "one text", *SMALL, *SHORT, "--set", "model.body=english")
        for design in DESIGNS:
            recipe = ("--recipe", design, "--epochs", "1", "--device", "cpu")
            answers[design] = freeze(Path(design), "classes", "one text", *recipe)
        table = write(Path("table.csv"), rows("classes", "one text"))
        ran("pretrain", table, "--preset", "tiny", "--epochs", "1", "--device", "cpu", "--out", LANGUAGE_MODEL)
        table.unlink()
        shutil.copytree(name, out)
    (out / "answers.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


def freeze(folder: Path, target: str, inputs: str, *flags: str, both: bool = False) -> list[dict[str, object]]:
    """Train on a small table, and return two rows with their answers."""
    table = write(Path("table.csv"), rows(target, inputs))
    ran("train", table, "--out", folder, *TARGETS[target], *INPUTS[inputs], *flags)
    if both:
        let_both_answer(folder)
    (folder / REPORT_FILE).unlink(missing_ok=True)
    write_sums(folder)
    found: list[dict[str, object]] = []
    for row in rows(target, inputs, first=100, count=2):
        given = {name: value for name, value in row.items() if name != "label"}
        text = str(given["text"]) if inputs == "one text" else json.dumps(given)
        found.append({"given": text, "answer": answer(folder, text)})
    return found


def answer(folder: Path, text: str) -> dict[str, object]:
    (found,) = json.loads(ran("predict", folder, text, "--json"))["answers"]
    kept = ("prediction", "confidence", "probabilities", "interval_low", "interval_high")
    return {name: found[name] for name in kept if name in found}


def ran(*command: object) -> str:
    outcome = glassformer(*command)
    assert outcome.code == 0, outcome.err
    return outcome.out


if __name__ == "__main__":
    main()
