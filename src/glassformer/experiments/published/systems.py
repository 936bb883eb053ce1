"""The systems, what their documents report, and the runs for each of them.

Reported figures are accuracies as the documents print them, or "none" if a document prints none. They were measured on
other splits, with other vocabularies or after an unknown number of tries. So they are landmarks, not targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

VariantName = Literal["literal", "corrected", "default"]
VARIANTS: tuple[VariantName, ...] = ("literal", "corrected", "default")

_QUICK_STEPS = 400


@dataclass(frozen=True, kw_only=True)
class SystemVariant:
    """One way to run a system: a recipe (None is the default recipe), changes to it, and the number of seeds."""

    recipe: str | None
    seeds: int
    overrides: Mapping[str, Any] = field(default_factory=dict)
    from_weights: bool = False
    """Whether it starts from weights that the user names."""


@dataclass(frozen=True, kw_only=True)
class TableEntry:
    """One line of the table: a system on a data set."""

    system: str
    data: str
    reported: str
    """The document's figures in its own words, or why there are none."""
    variants: Mapping[VariantName, SystemVariant]
    quick_in_full: bool = False
    """Whether a first look keeps its runs in full, with fewer seeds, because they are short."""


def quick(entry: TableEntry) -> TableEntry:
    """Return the entry for a first look: one seed with a few hundred steps, or three full runs if they are short."""
    seeds, changes = (3, {}) if entry.quick_in_full else (1, {"training.max_steps": _QUICK_STEPS})
    variants = {
        name: replace(variant, seeds=min(seeds, variant.seeds), overrides={**variant.overrides, **changes})
        for name, variant in entry.variants.items()
    }
    return replace(entry, variants=variants)


def quick_in_words(entries: Sequence[TableEntry]) -> str:
    """Describe the runs of a first look at these entries."""
    whole = list(dict.fromkeys(entry.system for entry in entries if entry.quick_in_full))
    if all(entry.quick_in_full for entry in entries):
        return "few seeds, each run in full"
    but = f" except for full runs of {' and '.join(whole)}" if whole else ""
    return f"few seeds, {_QUICK_STEPS} steps per run{but}"


def _default(seeds: int) -> SystemVariant:
    return SystemVariant(recipe=None, seeds=seeds)


def _bui_dang(system: str, reported: str) -> TableEntry:
    return TableEntry(
        system=system,
        data="zhou",
        reported=reported,
        variants={
            "literal": SystemVariant(recipe=system, seeds=25),
            "corrected": SystemVariant(recipe="bui-dang-corrected", seeds=10),
            "default": _default(10),
        },
        quick_in_full=True,
    )


# Tweets are short: 64 words are enough for almost all of them. The document reads 200 words of a film review.
_TWEETS = {"model.max_seq_len": 65, "tokenizer.max_tokens": 64, "training.epochs": 20}


def _vinh(
    system: str,
    data: str,
    *,
    reported: str = "none",
    changes: Mapping[str, Any] | None = None,
    corrected: SystemVariant | None = None,
    recipe: str | None = None,
    imdb_seeds: int = 3,
) -> TableEntry:
    seeds = 5 if data == "disaster-tweets" else imdb_seeds
    sizes = _TWEETS if data == "disaster-tweets" else {}
    literal = SystemVariant(recipe=recipe or system, seeds=seeds, overrides={**sizes, **(changes or {})})
    variants: dict[VariantName, SystemVariant] = {"literal": literal}
    if corrected is not None:
        variants["corrected"] = replace(corrected, seeds=seeds, overrides={**sizes, **corrected.overrides})
    variants["default"] = _default(5 if data == "disaster-tweets" else 1)
    return TableEntry(system=system, data=data, reported=reported, variants=variants)


def _vinh_family(data: str) -> list[TableEntry]:
    meant = SystemVariant(recipe="vinh-attention", seeds=0, overrides={"model.flattens": "attention"})
    repaired = SystemVariant(recipe="vinh-transformer-corrected", seeds=0)
    bar = {"disaster-tweets": ".8200 (.8305 at best)", "imdb": ".9292 (.9308 at best)"}
    recurrent = [
        _vinh(
            f"vinh-recurrent {cell}{' both ways' if directions == 'both' else ''}",
            data,
            recipe="vinh-recurrent",
            changes={"model.cell": cell, "model.directions": directions},
            imdb_seeds=1,
        )
        for cell in ("rnn", "gru", "lstm")
        for directions in ("forward", "both")
    ]
    return [
        _vinh("vinh-mlp", data),
        _vinh("vinh-attention", data, corrected=meant),
        *recurrent,
        _vinh(
            "vinh-transformer", data, reported=f"{bar[data]}, very probably of a fine-tuned model", corrected=repaired
        ),
    ]


def _vinh_transfer(data: str, reported: str) -> TableEntry:
    return TableEntry(
        system="vinh-transfer",
        data=data,
        reported=reported,
        variants={"literal": SystemVariant(recipe="fine-tune", seeds=3, from_weights=True)},
    )


ENTRIES: tuple[TableEntry, ...] = (
    _bui_dang("bui-dang-rows", "test .90, training .931, one run"),
    _bui_dang("bui-dang-columns", "test .95, training .862, one run"),
    *_vinh_family("disaster-tweets"),
    TableEntry(
        system="notes-decoder",
        data="disaster-tweets",
        reported="none",
        variants={
            "literal": SystemVariant(recipe="notes-decoder", seeds=5),
            "corrected": SystemVariant(recipe="notes-decoder-corrected", seeds=5),
            "default": _default(5),
        },
    ),
    TableEntry(
        system="sentiment140",
        data="sentiment140",
        reported=".8048, F1 .8047, on a random fifth of the noisy labels that also chose the epoch",
        variants={
            "literal": SystemVariant(recipe="sentiment140", seeds=1),
            "corrected": SystemVariant(recipe="sentiment140-corrected", seeds=3),
            "default": _default(3),
        },
    ),
    *_vinh_family("imdb"),
    _vinh_transfer("disaster-tweets", ".8200 (.8305 at best)"),
    _vinh_transfer("imdb", ".9292 (.9308 at best)"),
)
SYSTEMS = tuple(dict.fromkeys(entry.system.split()[0] for entry in ENTRIES))
