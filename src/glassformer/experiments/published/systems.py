"""Which systems there are, what their documents report, and the runs that stand for each of them.

Reported figures are accuracies as the documents print them; where a document says nothing, nothing stands here. What is
printed was measured on other splits, other vocabularies or an unknown number of tries: it is a landmark, not a target.
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
    """One way to run a system: a recipe (None: the default one), what is changed in it, and how many seeds."""

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
    """In the document's words and numbers, or why there are none."""
    variants: Mapping[VariantName, SystemVariant]
    quick_in_full: bool = False
    """Whether its runs are short enough for `--quick` as they are, with fewer seeds."""


def quick(entry: TableEntry) -> TableEntry:
    """The same entry for a first look: one seed of a few hundred steps, or three whole runs where those are short."""
    seeds, changes = (3, {}) if entry.quick_in_full else (1, {"training.max_steps": _QUICK_STEPS})
    variants = {
        name: replace(variant, seeds=min(seeds, variant.seeds), overrides={**variant.overrides, **changes})
        for name, variant in entry.variants.items()
    }
    return replace(entry, variants=variants)


def quick_in_words(entries: Sequence[TableEntry]) -> str:
    """What a first look at these is."""
    whole = list(dict.fromkeys(entry.system for entry in entries if entry.quick_in_full))
    if all(entry.quick_in_full for entry in entries):
        return "few seeds, each in full"
    but = f" but for {' and '.join(whole)}, whose runs are whole" if whole else ""
    return f"few seeds, {_QUICK_STEPS} steps each{but}"


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


# A tweet is short: 64 words hold all but a handful of them, where the document's films take 200.
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
    done_right = SystemVariant(recipe="vinh-transformer-corrected", seeds=0)
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
            "vinh-transformer", data, reported=f"{bar[data]}, very probably of a fine-tuned model", corrected=done_right
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
