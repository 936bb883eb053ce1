"""Keep the figures of a finished `glassformer compare-variants` for docs/how-it-works/variants.md, without its runs.

python -m benchmarks.variants runs/variants/results.json disaster-tweets
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.experiment import RESULTS, as_text
from glassformer.experiments.variants.comparison_result import VariantComparison


def main() -> None:
    """Write the result of the comparison that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the results.json that `compare-variants` wrote")
    parser.add_argument("name", help="of the result")
    options = parser.parse_args()
    found = VariantComparison.model_validate_json(options.results.read_text(encoding="utf-8"))
    file = RESULTS / "variants" / f"{options.name}.json"
    file.write_text(as_text(result(found)), encoding="utf-8")
    print(file)


def result(found: VariantComparison) -> dict[str, Any]:
    """Return the comparison with the accuracies of all seeds. The recipe is that of the command and the commit."""
    whole = found.model_dump(mode="json", exclude={"format", "recipe", "runs", "figure"})
    for value in (*whole["variants"], *(value for key in whole["keys"] for value in key["values"])):
        value["accuracy"] = value.pop("mean")
    for variant in whole["variants"]:
        del variant["settings"]  # they are its name
        variant["accuracies"] = [run.mean for run in found.runs if run.variant == variant["name"]]
        if variant["behind_best"] is not None:
            variant["behind_best"] = {key: variant["behind_best"][key] for key in ("difference", "p", "holm_p")}
    return whole | {"training_seconds": sum(run.seconds for run in found.runs)}


if __name__ == "__main__":
    main()
