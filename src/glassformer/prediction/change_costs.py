"""Change what wrong answers cost, without training anew."""

from pathlib import Path
from typing import Any, TypeVar

from glassformer.data.checksums import replace_file
from glassformer.errors import UsageError
from glassformer.prediction.answering_config import AnsweringConfig
from glassformer.prediction.load_answering import load_answering
from glassformer.prediction.shipped import is_shipped, shown
from glassformer.targets.costs import read_costs, settled
from glassformer.targets.labels.target import Labels, labels_of

Config = TypeVar("Config", bound=AnsweringConfig)


def with_costs(config: Config, given: Any) -> Config:
    """Return the config of a model whose wrong answers cost this.

    Its recipe gets the costs too: rows that are added later are learned by it.

    Raises:
        UsageError: see `read_costs` and `Costs.of`, or the model answers with a number.
    """
    config.target.check_labels("`costs=`")
    target = labels_of(config.target)
    costs = settled(read_costs(given), target.names, multilabel=target.multilabel)
    update: dict[str, Any] = {"target": target.model_copy(update={"costs": costs})}
    if (recipe := getattr(config, "recipe", None)) is not None:
        own = {"costs": [row.model_dump() for row in costs]}
        update["recipe"] = recipe | {"training": recipe.get("training", {}) | own}
    return config.model_copy(update=update)


def change_costs(folder: Path, given: Any) -> Labels:
    """Change the costs in a model folder or an exported model. Return its target.

    Raises:
        UsageError: see `with_costs` and `load_answering`, or the model comes with the package.
    """
    config = with_costs(load_answering(folder, device="cpu").trained.config, given)
    if is_shipped(folder):
        raise UsageError(f"{shown(folder)} comes with glassformer, and nothing is written there; copy {folder} first")
    replace_file(folder, "config.json", config.model_dump_json(indent=2) + "\n")
    return labels_of(config.target)
