"""The page of an audit, one self-contained HTML file, and the audit as JSON."""

from __future__ import annotations

from html import escape
from pathlib import Path

from glassformer.audit.result import Attack, Audit, FileAudit
from glassformer.data.files import write_aside
from glassformer.data.wording import counted
from glassformer.doctor.page import FINDINGS_STYLE, findings_list
from glassformer.evaluation.record import Estimate
from glassformer.pages.html import page, table
from glassformer.prediction.folder_names import AUDIT_FILE, AUDIT_PAGE

_STYLE = f"""{FINDINGS_STYLE}
#files td, #traced td {{ white-space: normal; }}
#files td, #traced td, #files thead th, #traced thead th {{ text-align: left; }}
#files td:nth-child(3), #files td:last-child, #traced td:nth-child(5), #traced td:last-child {{ min-width: 11rem; }}
#membership .scroll {{ margin-bottom: .75rem; }}
#files .stays {{ color: var(--second); font-weight: 700; }}
"""


def write_audit(folder: Path, found: Audit) -> None:
    """Write `audit.json` and `audit.html` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ((AUDIT_FILE, found.model_dump_json(indent=2) + "\n"), (AUDIT_PAGE, render_audit(found))):
        write_aside(folder / name, text)


def render_audit(found: Audit) -> str:
    """Return the page as HTML. Everything that comes from the user's data is masked or escaped."""
    sections = {
        "findings": ("Findings", findings_list(found.findings)),
        "files": ("File by file", _files(found)),
        "traced": ("Personal data of the training table", _traced(found)),
        "membership": ("Who was in the training table", _membership(found)),
        "method": ("How this was audited", _method(found)),
    }
    return page(
        found.model,
        "audit",
        subtitle="which personal data this folder holds, and what its answers reveal",
        headline=f'<p class="verdict">{escape(found.verdict)}</p>',
        sections=sections,
        footer=f"glassformer {found.version} · {found.created}",
        style=_STYLE,
    )


def _files(found: Audit) -> str:
    rows = [(f"<code>{escape(file.name)}</code>", _file(file)) for file in found.files]
    caption = (
        "What each file holds, and the personal data that was found in it. Most of each value is hidden. Files of "
        "numbers are not searched. Files that “stay” are not part of the model: do not give them away."
    )
    return table(caption, ("file", "to others", "holds", "found in it"), rows)


def _file(file: FileAudit) -> tuple[str, ...]:
    goes = "may go" if file.give_away else '<span class="stays">stays</span>'
    if file.found is None:
        inside = "not searched"
    else:
        inside = "; ".join(
            f"{found.values:,} × {escape(found.kind)} ({escape(', '.join(found.examples))})" for found in file.found
        )
    return goes, escape(file.holds), inside or "nothing"


def _traced(found: Audit) -> str:
    if found.traced is None:
        return f"<p>Not done: {escape(found.unread)}.</p>"
    if not found.traced:
        return "<p>The training texts hold nothing of the forms that were looked for.</p>"
    rows = [
        (
            escape(each.kind),
            (
                f"{each.values:,}",
                f"{each.readable:,}",
                "–" if each.confirmable is None else f"{each.confirmable:,}",
                escape(", ".join(each.examples)),
                ", ".join(f"{row:,}" for row in each.readable_rows or each.rows),
            ),
        )
        for each in found.traced
    ]
    caption = (
        "Different values in the training table. Readable: spelled out in the vocabulary or the n-grams. Can be "
        "confirmed: whoever guesses the value can check it with the hashes of seen words."
    )
    return table(caption, ("kind", "in the table", "readable", "can be confirmed", "such as", "rows"), rows)


def _membership(found: Audit) -> str:
    measured = found.membership
    if measured is None:
        return f"<p>Not done: {escape(found.unmeasured)}.</p>"
    rows = [(escape(each.by), _attack(each)) for each in measured.attacks]
    caption = (
        f"Attacks that guess whether a text was in the training table, tried on {measured.members:,} texts of it and "
        f"{measured.others:,} held-out texts. AUC: the probability that a training text gets a higher score than a "
        "held-out one; .500 is chance. Recognised: the share of training texts above a threshold that 1 in 100 "
        "held-out "
        "texts pass; .010 is chance. With 95% intervals."
    )
    means = (
        f"<p>The answers are right for {measured.training_accuracy:.1%} of the training texts and "
        f"{measured.others_accuracy:.1%} of the others. The mean loss is {measured.training_loss:.3f} and "
        f"{measured.others_loss:.3f} nats. The larger the gap, the more the model reveals.</p>"
    )
    notes = "".join(f"<p class='soft'>{escape(note)}</p>" for note in measured.notes)
    return means + table(caption, ("attack by", "AUC", "recognised", "tried on"), rows) + _twins(found) + notes


def _attack(found: Attack) -> tuple[str, ...]:
    caught = "too few texts" if found.caught is None else _interval(found.caught)
    return _interval(found.auc), caught, escape(found.whom)


def _interval(found: Estimate) -> str:
    value, low, high = (f"{number:.3f}".removeprefix("0") for number in (found.value, found.low, found.high))
    return f"{value}<small>{low} – {high}</small>"


def _twins(found: Audit) -> str:
    assert found.membership is not None
    twins = found.membership.twins
    if twins is None:
        return ""
    return (
        "<p>Near copies: one word of a text is replaced by a word of another one, in "
        f"{counted(twins.texts, 'training text')} and in held-out texts. The loss of training texts then rises by "
        f"{twins.training.value:.3f} nats, that of others by {twins.others.value:.3f}; the difference is "
        f"{twins.difference.value:.3f} (95% interval "
        f"{twins.difference.low:.3f} to {twins.difference.high:.3f}). Above 0, the model knows the exact wording.</p>"
    )


def _method(found: Audit) -> str:
    return (
        '<p class="soft">Personal data is found by its form: addresses and numbers by patterns, payment cards and '
        "IBANs "
        "also by their check digits, names by words in upper case inside of sentences and in whole categories. What "
        "has another form is not found. The counting reader keeps runs of three words: overlapping ones were put "
        f"together again, as an attacker would. The audit took {found.seconds:g} s. It sent nothing anywhere.</p>"
    )
