"""The page of a search, one self-contained HTML file."""

from __future__ import annotations

from html import escape
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.data.wording import counted
from glassformer.evaluation.charts import Dot, interval_chart
from glassformer.evaluation.report import seconds
from glassformer.evaluation.verdict import p_value, share, signed
from glassformer.experiments.pages import list_of_facts, machine_in_words, sentence, with_interval
from glassformer.experiments.search.effects import FEWEST_TRIALS
from glassformer.experiments.search.halving import DIGITS
from glassformer.experiments.search.result import Figures, SearchResult, SettingEffect, Trial
from glassformer.experiments.search.rows import PARTS
from glassformer.pages.html import page, scrolling, table

_STYLE = """
#trials tbody th { min-width: 18rem; font-weight: 400; }
#trials td small { white-space: normal; max-width: 11rem; margin-left: auto; }
"""


def write_page(path: Path, found: SearchResult) -> None:
    """Write the page. It follows the reader's light or dark scheme."""
    write_aside(path, render_search(found))


def render_search(found: SearchResult) -> str:
    """Return the page as HTML. Everything that comes from the user is escaped."""
    notes = "".join(f"<li>{escape(sentence(note))}</li>" for note in found.notes)
    sections = {
        "measured": ("On rows that the search never saw", _measured(found)),
        "settings": ("The best settings", scrolling(f"<pre>{escape(found.recipe)}</pre>") if found.best else ""),
        "effects": ("What mattered", _effects(found)),
        "trials": ("Every trial", _trials(found)),
        "notes": ("Notes", f"<ul>{notes}</ul>" if notes else ""),
        "method": ("How this was measured", _method(found)),
    }
    return page(
        f"Search on {found.data.source}",
        "search",
        subtitle=f"{counted(len(found.trials), 'trial')} in {found.seconds / 60:.1f} of {found.minutes:g} minutes",
        headline=f'<p class="verdict">{escape(found.verdict)}</p>',
        sections=sections,
        style=_STYLE,
        footer=f"glassformer · {found.created}",
    )


def _measured(found: SearchResult) -> str:
    if all(not choice.settings for choice in found.choices):
        rows = [("the recipe as it is", _figures(found.default))]
    else:
        chance = "" if found.mcnemar_p is None else f"<small>{p_value(found.mcnemar_p)}</small>"
        difference = [
            f"{with_interval(found.accuracy_difference, signed)}{chance}",
            with_interval(found.log_loss_difference, signed),
        ]
        rows = [
            ("the best settings", _figures(found.found)),
            ("the recipe as it is", _figures(found.default)),
            ("difference", difference),
        ]
    whole = table(
        f"{counted(found.data.unseen_rows, 'row')}. 95% intervals; the difference is paired. A lower log loss is "
        "better.",
        ("", "accuracy", "log loss"),
        rows,
    )
    if found.data.folds == 1:
        return whole
    chosen = "".join(f"<li>{escape(choice.name)} ({choice.unseen_rows:,} rows)</li>" for choice in found.choices)
    return f"{whole}<p>What the search chose without each part, and measured on it:</p><ul>{chosen}</ul>"


def _figures(figures: Figures) -> list[str]:
    return [with_interval(figures.accuracy, share), with_interval(figures.log_loss, share)]


def _effects(found: SearchResult) -> str:
    """Return a chart for each setting, those that mattered first."""
    if not found.effects:
        return f"<p>There are too few trials to say; at least {FEWEST_TRIALS} are needed.</p>"
    mattering = [each.key for each in found.effects if each.matters]
    if mattering:
        verb = "changes" if len(mattering) == 1 else "change"
        said = f"{', '.join(mattering)} clearly {verb} the loss. The other settings have no clear effect."
    else:
        said = "These trials do not show that any of the settings changes the loss: all differences may be chance."
    explained = (
        "The loss after a third of the steps: mean of the trials with a value, minus the mean of all trials. Left is "
        "better. Values were drawn independently, so each setting is judged alone; whether two settings help each "
        "other is not tested. p is corrected for the number of settings (Holm)."
    )
    charts = "".join(map(_effect, found.effects))
    return f'<p>{escape(said)}</p><p class="soft">{explained}</p><div class="pair">{charts}</div>'


def _effect(effect: SettingEffect) -> str:
    name = effect.key
    dots = [
        Dot(name=f"{each.value} ({counted(each.trials, 'trial')})", estimate=each.effect, style="first")
        for each in effect.values
    ]
    chart = interval_chart(f"Effect of {name}", "loss minus the mean loss", dots, mark=0, narrow=True)
    caption = f"explains {effect.explains:.0%} of the variance, {p_value(effect.holm_p)}"
    return f"<figure><figcaption><b>{escape(name)}</b>: {caption}</figcaption>{chart}</figure>"


def _trials(found: SearchResult) -> str:
    best = next((number for number, trial in enumerate(found.trials) if trial.number == found.best), None)
    head = ("settings", "loss", "dropped after", "loss, third of steps", "accuracy", "parameters", "seconds")
    explained = (
        "Settings that are not named are those of the recipe. Loss: log loss in nats, mean over the parts of the rows "
        f"that the last candidates were rated on, {found.parts} of {PARTS}. The others were dropped before: the best "
        "third goes on from rung 1 (a third of the steps) and from rung 2 (all steps, part 1). Of losses equal "
        f"to {DIGITS} digits, that of the transformer alone decides. Accuracy: mean over all parts."
    )
    listed = table(
        "The best trials come first.",
        head,
        [(escape(trial.name), _trial_cells(trial)) for trial in found.trials],
        ours=best,
        sortable=True,
    )
    return f'<p class="soft">{explained}</p>{listed}'


def _trial_cells(trial: Trial) -> list[str]:
    if trial.failed is not None:
        return ["–", f"failed<small>{escape(trial.failed)}</small>", "", "", "", seconds(trial.seconds)]
    whole = [run for run in trial.runs if run.share == 1]
    accuracies = [run.accuracy for run in whole if run.accuracy is not None]
    return [
        "–" if trial.loss is None else f"{trial.loss:.4f}",
        _dropped(trial),
        "–" if trial.first_loss is None else f"{trial.first_loss:.4f}",
        share(sum(accuracies) / len(accuracies)) if accuracies else "–",
        f"{trial.parameters:,}",
        seconds(trial.seconds),
    ]


def _dropped(trial: Trial) -> str:
    """Return the rung, and below it why the trial was dropped there."""
    rung, _, why = (trial.dropped or "–").partition(": ")
    return f"{rung}<small>{escape(why)}</small>" if why else rung


def _method(found: SearchResult) -> str:
    data = found.data
    facts = {
        "data": f"{data.source}, {counted(data.rows, 'row')}",
        "inputs": data.inputs or "",
        "fingerprint": data.sha256,
        "held out from the search": f"{counted(data.unseen_rows, 'row')}"
        + (f" in {data.folds} parts" if data.folds > 1 else ""),
        "trials rated on": data.rated_on,
        "searched": "; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in found.space.items()),
        "seed": str(found.seed),
        "command": found.command,
        "versions": ", ".join(f"{name} {version}" for name, version in found.versions.items()),
        "machine": machine_in_words(found.device, found.threads, found.machine),
    }
    return (
        f'{list_of_facts(facts)}<p class="soft">Successive halving: all candidates are trained for a third of '
        "their steps on three of four parts of the rows, and rated on the fourth. The best third is trained with all "
        "steps, and the best third of these also without two of the other parts, each time with another seed. The loss "
        "is that of the calibrated answers of both readers together. The recipe as it is takes part to the end. Then "
        "the best settings and the recipe as it is are trained on all rows of the search, as <code>train</code> does, "
        "and answer the rows that the search never saw.</p>"
    )
