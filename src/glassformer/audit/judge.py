"""Turn the figures of an audit into findings: what was found, how bad it is, and what to do."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from glassformer.audit.columns import Columns
from glassformer.audit.files import INSIDE, READABLE
from glassformer.audit.membership import FALSE_ALARMS, KNOWN_NGRAMS, SEEN_WORDS
from glassformer.audit.patterns import DIRECT, NAME, masked, masked_name
from glassformer.audit.result import Attack, FileAudit, Membership, Traced
from glassformer.data.inputs import Inputs
from glassformer.data.table import row_list
from glassformer.data.wording import counted
from glassformer.doctor.findings import Finding, Level
from glassformer.errors import quoted
from glassformer.evaluation.verdict import share
from glassformer.exporting.web import PAGE_FILE
from glassformer.prediction.folder_names import AUDIT_FILE
from glassformer.readers.counting.reader import NGRAMS_FILE

_PLURALS = {
    "e-mail address": "e-mail addresses",
    "IP address": "IP addresses",
    "link with a login": "links with a login",
}
_EXAMPLES = 3
_MASK = "replace it in the table or the unlabelled texts by a word such as EMAIL, PHONE or NAME, and train again"

_FEW_FALSE = f"at a false positive rate of {FALSE_ALARMS:.0%}"
_ALONE = "A first name or surname alone was not looked for"


def judge(
    files: Sequence[FileAudit],
    traced: Sequence[Traced] | None,
    membership: Membership | None,
    inputs: Inputs | None = None,
    *,
    unread: str,
    unmeasured: str,
) -> tuple[Finding, ...]:
    """Return the findings, in the order of the audit."""
    columns = Columns(inputs)
    findings = [*_kept_back(files), *_in_files(files, traced)]
    findings += [*_personal_columns(files, columns), *_categories(files, columns)]
    if traced is None:
        findings.append(_not_done("training table", f"{unread}; so names in the texts were not looked for"))
    else:
        findings += [_names(traced), *_confirmable(traced)]
    if membership is None:
        findings.append(_not_done("who was in the table", unmeasured))
    else:
        findings += [*map(_attack, membership.attacks), *_twins(membership)]
    findings.append(
        Finding(
            check="what leaves this machine",
            level="good",
            found="nothing: glassformer sends no file, text or figure anywhere. Training, answering and this audit "
            "work without a network",
        )
    )
    return tuple(findings)


def verdict_of(
    findings: Sequence[Finding], membership: Membership | None, traced: Sequence[Traced] | None = None
) -> str:
    """Return the audit in two or three sentences."""
    problems = [finding.check for finding in findings if finding.level == "problem"]
    names = next((found for found in traced or () if found.kind == NAME and found.readable), None)
    if problems:
        first = f"Do not give this folder away as it is: {counted(len(problems), 'problem')} ({', '.join(problems)})."
        first += "" if names is None else f" {_readable(names)}."
    else:
        first = (
            "No problem was found in the files." if names is None else f"Before you give it away: {_readable(names)}."
        )
    if membership is None:
        return f"{first} Whether the model reveals its training texts was not measured."
    attacks = [found for found in membership.attacks if is_better_than_chance(found)]
    if not attacks:
        return f"{first} No attack could tell training texts from others."
    best = max(attacks, key=lambda found: found.auc.value)
    guess = f"{first} An attacker can guess whether a text was in the training table"
    ranks = f"has an AUC of {share(best.auc.value)} (chance .500)"
    measured = {found.by: found.caught.value for found in attacks if found.caught is not None}
    by = max(measured, key=lambda name: measured[name], default=best.by)
    caught = measured.get(by, 0.0)
    if caught <= FALSE_ALARMS:
        return f"{guess}: the attack by {best.by} {ranks}."
    return (
        f"{guess}: the attack by {by} recognises {caught:.1%} of the training texts {_FEW_FALSE}, and "
        f"{ranks if by == best.by else f'the one by {best.by} {ranks}'}."
    )


def _not_done(check: str, why: str) -> Finding:
    moved = "cannot be read" in why or "changed" in why
    advice = "name the training table if it was moved (`train=`)" if moved else ""
    return Finding(check=check, level="worth knowing", found=f"not done: {why}", advice=advice)


def _kept_back(files: Sequence[FileAudit]) -> Iterator[Finding]:
    stay = [file for file in files if not file.give_away and not file.holds.startswith("this audit")]
    if not stay:
        yield Finding(
            check="files to keep back",
            level="good",
            found="the folder holds only files that belong to the model, and perhaps an audit, which you keep",
        )
        return
    holds = list(dict.fromkeys(f"{file.name.partition('/')[0]} ({file.holds})" for file in stay))
    them = "it" if len(holds) == 1 else "them"
    yield Finding(
        check="files to keep back",
        level="problem",
        found=f"{counted(len(holds), 'entry is', 'entries are')} not part of the model: {'; '.join(holds)}",
        advice=f"delete {them} before you give the folder away, or give away an export (`glassformer export`), which "
        f"leaves {them} out",
    )


def _in_files(files: Sequence[FileAudit], traced: Sequence[Traced] | None) -> Iterator[Finding]:
    """Judge what can be read in the files of the model itself. With the table, it is known what its words say."""
    check = "personal data in the files"
    named = []
    direct = False
    for file in files:
        if (
            not file.give_away
            or not file.found
            or (traced is not None and file.name in (NGRAMS_FILE, "tokenizer.json"))
        ):
            continue
        of_texts = [found for found in file.found if found.kind != NAME]  # names are judged by their columns
        parts = [f"{_several(found.kind, found.values)} ({', '.join(found.examples)})" for found in of_texts]
        direct |= any(found.kind in DIRECT for found in of_texts)
        named += [f"{file.name}: {', '.join(parts)}"] if parts else []
    readable = [found for found in traced or () if found.kind != NAME and found.readable]
    direct |= any(found.kind in DIRECT for found in readable)
    parts = [
        f"{_several(found.kind, found.readable)} ({', '.join(found.examples)}; {row_list(list(found.readable_rows))})"
        for found in readable
    ]
    if parts:
        named.append(f"vocabulary and n-grams: {', '.join(parts)}")
    missed = [file.name for file in files if file.give_away and file.found is None]
    unread = [name for name in missed if PurePath(name).suffix in READABLE]
    if unread:
        yield Finding(
            check=check,
            level="worth knowing",
            found=f"not searched, as damaged, too large or written by another program: {', '.join(unread)}",
        )
    if not named and (unread or any(file.give_away and file.found for file in files)):
        return
    if not named:
        yield Finding(check=check, level="good", found="none was found in the files of the model")
        return
    level: Level = "problem" if direct else "worth knowing"
    yield Finding(check=check, level=level, found="; ".join(named), advice=_MASK)


def _personal_columns(files: Sequence[FileAudit], columns: Columns) -> Iterator[Finding]:
    """Judge the columns whose categories name or reach persons."""
    told, kinds = [], set()
    for column in columns.categories:
        for kind, values in columns.personal(column).items():
            if kind != NAME and kind not in DIRECT:
                continue
            kinds.add(kind)
            examples = ", ".join(map(masked_name if kind == NAME else masked, values[:_EXAMPLES]))
            told.append(
                f"{quoted(column.name)}: {len(values):,} of {counted(len(column.values), 'category', 'categories')} "
                f"hold {_PLURALS.get(kind, f'{kind}s')} ({examples})"
            )
    if told:
        where = [file.name for file in files if file.give_away and kinds & {found.kind for found in file.found or ()}]
        yield Finding(
            check="personal data in columns",
            level="problem",
            found=f"{'; '.join(told)}. They stand in {', '.join(where)}",
            advice="if these are persons, train again without the column (`columns=`), or replace each value in the "
            "table by a code",
        )


def _categories(files: Sequence[FileAudit], columns: Columns) -> Iterator[Finding]:
    categories = [
        f"{quoted(column.name)} ({counted(len(column.values), 'category', 'categories')})"
        for column in columns.categories
    ]
    limits = [f"{quoted(column.name)} ({counted(len(column.edges), 'limit')})" for column in columns.numbers]
    held, advice = [], []
    if categories:
        held.append(f"the categories of {', '.join(categories)}")
        advice.append("if a category names a person, or nobody may know it, train again without this column")
    if limits:
        held.append(f"numbers of the table, where the quantiles of {', '.join(limits)} begin")
        advice.append("if nobody may know such a number, train again without the column, or round it in the table")
    if held:
        tell = ("config.json", NGRAMS_FILE, "tokenizer.json", PAGE_FILE)
        spelling = [file.name for file in files if file.name.rpartition(INSIDE)[2] in tell]
        yield Finding(
            check="categories in the files",
            level="worth knowing",
            found=f"{', '.join(spelling)} spell {', and '.join(held)}",
            advice="; ".join(advice),
        )


def _several(kind: str, values: int) -> str:
    return counted(values, kind, _PLURALS.get(kind))


def _readable(names: Traced) -> str:
    return f"{names.readable:,} of {counted(names.values, 'probable name')} of the table can be read in the files"


def _names(traced: Sequence[Traced]) -> Finding:
    names = next((found for found in traced if found.kind == NAME), None)
    check = "names in the files"
    if names is None or not names.readable:
        found = "none" if names is None else f"none of the {names.values:,} probable names of the table"
        return Finding(
            check=check, level="good", found=f"{found} can be read in the vocabulary or the n-grams. {_ALONE}"
        )
    return Finding(
        check=check,
        level="worth knowing",
        found=f"{_readable(names)}, in the vocabulary or the n-grams ({', '.join(names.examples)}; "
        f"{row_list(list(names.readable_rows))}): words that begin in upper case, so places and firms too. {_ALONE}",
        advice=f"{_MASK}; {AUDIT_FILE} names all rows",
    )


def _confirmable(traced: Sequence[Traced]) -> Iterator[Finding]:
    found = [each for each in traced if each.kind != NAME and each.confirmable]
    if not found:
        return
    listed = ", ".join(f"{each.confirmable:,} of {_several(each.kind, each.values)}" for each in found)
    yield Finding(
        check="guessing personal data",
        level="problem" if any(each.kind in DIRECT for each in found) else "worth knowing",
        found=f"whoever guesses one can confirm with seen.safetensors that it is in the table: {listed}",
        advice=_MASK,
    )


def _attack(found: Attack) -> Finding:
    area = found.auc
    caught = (
        "" if found.caught is None else f"; it recognises {found.caught.value:.1%} of the training texts {_FEW_FALSE}"
    )
    told = (
        "tells training texts from others" if is_better_than_chance(found) else "cannot tell training texts from others"
    )
    return Finding(
        check=f"membership by {found.by}",
        level="worth knowing" if is_better_than_chance(found) else "good",
        found=f"an attacker {told}: AUC {share(area.value)} ({share(area.low)} to {share(area.high)}; "
        f"chance .500){caught}",
        advice=_advice(found) if is_better_than_chance(found) else "",
    )


def is_better_than_chance(found: Attack) -> bool:
    return found.auc.low > 0.5


def _advice(found: Attack) -> str:
    if found.by == SEEN_WORDS:
        return (
            "if nobody may learn whether a text was in the table, train again with `training.keep_seen_words=false`: "
            "the folder then has no seen.safetensors, and the model no longer says which texts are unlike the training "
            "data"
        )
    if found.by == KNOWN_NGRAMS:
        return (
            "if nobody may learn whether a text was in the table, train again with `model.counting=none`: the folder "
            "then has no n-grams, but the model is less accurate on small tables"
        )
    return (
        "if nobody may learn whether a text was in the table, do not give the folder away, and give others only the "
        "labels"
    )


def _twins(membership: Membership) -> Iterator[Finding]:
    twins = membership.twins
    if twins is None:
        return
    certain = twins.difference.low > 0
    yield Finding(
        check="memorisation",
        level="worth knowing" if certain else "good",
        found=f"if a word of a text is replaced, its loss rises by {twins.training.value:.3f} {membership.unit} for "
        f"training texts and by {twins.others.value:.3f} for others; the difference is {twins.difference.value:.3f} "
        f"(95% interval {twins.difference.low:.3f} to {twins.difference.high:.3f}): the wording of training texts "
        f"{'was memorised in part' if certain else 'is not known better than that of others'}",
    )
