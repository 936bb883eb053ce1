"""`glassformer labels`: look for wrong labels and repeated texts in a table, and mend it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.flags import as_typed
from glassformer.cli.options import DataDir, Group, Learned, Reading, SafeCsv, Shown
from glassformer.cli.output import beginning, doing, one_line, print_json, read_aloud, say, say_note, show
from glassformer.cli.there import table
from glassformer.cli.writers import check_new, check_out, write_answers
from glassformer.data.wording import counted
from glassformer.errors import UsageError, quoted

if TYPE_CHECKING:
    import polars as pl

    from glassformer.data.table import Table
    from glassformer.labels.findings import LabelCheck
    from glassformer.labels.labelled import Labelled
    from glassformer.labels.learning_curve import Gain, LearningCurve
    from glassformer.labels.mend import Mended
    from glassformer.labels.to_label import ToLabel
    from glassformer.labels.truth import Truth

_SHOWN, _CHARACTERS_SHOWN = 3, 80
_FEWEST_DOUBTS, _ONE_SIDED = 10, 0.8  # of which so many are about one label: a warning


def labels(
    data: Learned,
    apply: Annotated[
        Path | None,
        typer.Option(callback=table, help="Write the mended table, from a file in which you filled in labels."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .xlsx, .csv, .tsv or .jsonl, also with .gz. Default, beside the table: "
            "TABLE-to-check.csv, for a workbook .xlsx. With --apply: TABLE-mended, and the ending of the table."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file in --out.")] = False,
    test: Annotated[
        str | None,
        typer.Option(
            help="Your test table. Rows with the same or nearly the same text as one of its rows are listed too."
        ),
    ] = None,
    prefill: Annotated[
        bool, typer.Option("--prefill", help="Fill the column new_label with suggestions, for you to correct.")
    ] = False,
    next_: Annotated[
        tuple[int, str] | None,
        typer.Option(
            "--next",
            metavar="NUMBER FILE",
            callback=lambda wanted: wanted and (wanted[0], table(wanted[1])),
            help="Choose the NUMBER texts of the table FILE that are most worth labelling. Those in the labelled rows "
            "are left out. Default of --out: FILE-to-label.csv, for a workbook .xlsx.",
        ),
    ] = None,
    group: Group = None,
    safe_csv: SafeCsv = None,
    data_dir: DataDir = None,
    *,
    reading: Reading,
    shown: Shown,
) -> None:
    """List doubtful labels and repeated texts of a table, and mend it; or choose what to label next."""
    of_check = {"--test": test, "--prefill": prefill, "--group": group}
    if apply is not None:
        _refuse(of_check | {"--safe-csv": safe_csv, "--next": next_}, "--apply")
        _apply(data, apply, out, data_dir, reading, overwrite=overwrite, json=shown.json)
        return
    from glassformer.data.addresses import beside, is_elsewhere, without_password
    from glassformer.prediction.answer_files import Columns, ending_like, written_like

    data = without_password(data)
    asked, name = (data, "to-check") if next_ is None else (next_[1], "to-label")
    out = out or beside(asked, f"-{name}{ending_like(Path(asked))}")
    check_out(out, None if is_elsewhere(data) else Path(data), overwrite=overwrite)
    if safe_csv and "json" in out.name:
        raise UsageError("--safe-csv is for a CSV or TSV; leave it out")
    if next_ is not None:
        _refuse(of_check, "--next")
        _label_next(data, next_, out, data_dir, reading, safe_csv=safe_csv, json=shown.json)
        return
    truth, test_table = _read(data, test, group, data_dir, reading)
    if (lacking := truth.table.without_label) is not None:
        say(f"{lacking}: --next 50 {shlex.quote(data)} chooses which to label next")
    from glassformer.labels.check import check_table

    check = check_table(truth, test_table, on_progress=_on_progress)
    doing("")
    filled = check.to_fill_in(prefill=prefill)
    with write_answers(out, "plain", table=out, like=written_like(data), safe=safe_csv) as write:
        write(filled, Columns(filled.select()))
    if shown.json:
        print_json(_document(check, truth, out))
        return
    _show_found(check, truth, out)
    filled_in = f"{out}: {counted(check.findings.height, 'finding')}"
    show(f"\n{filled_in}" + (f". Fill in the column new_label: {truth.to_type}, or drop" if len(filled) else ""))
    if len(filled) and not is_elsewhere(data):
        say(f"then: {_to_apply(data, reading)} {shlex.quote(str(out))}")


def _refuse(of_check: Mapping[str, object], other: str) -> None:
    if given := [flag for flag, value in of_check.items() if value]:
        raise UsageError(f"{given[0]} is for looking, not for {other}; leave it out")


def _to_apply(data: str, reading: Reading) -> str:
    """Return the command that mends a table, up to the name of the file."""
    return shlex.join(["glassformer", "labels", data, *as_typed(vars(reading)), "--apply"])


def _label_next(
    data: str,
    wanted: tuple[int, str],
    out: Path,
    data_dir: Path | None,
    reading: Reading,
    *,
    safe_csv: bool | None,
    json: bool,
) -> None:
    """Choose texts to label next, and write them with an empty column of labels."""
    from glassformer.data.addresses import local_path, without_password
    from glassformer.labels.labelled import read_unlabelled, rows_to_label
    from glassformer.labels.to_label import to_label
    from glassformer.prediction.answer_files import Columns, written_like

    number, unlabelled = wanted
    if number < 1:
        raise UsageError(f"--next {number}: give a number of texts, such as --next 50 {unlabelled}")
    path, unlabelled = local_path(unlabelled), without_password(unlabelled)
    check_out(out, path, overwrite=True)
    truth, _ = _read(data, None, None, data_dir, reading)
    doing(f"reading {unlabelled}")
    pool = read_unlabelled(path, truth.table)
    for note in pool.notes if pool.source != truth.table.source else ():  # said already
        say_note(note)
    doing("choosing texts")
    found = to_label(truth, pool, number)
    rows = rows_to_label(path, pool, truth.table, found.rows.drop("text"))
    with write_answers(out, "plain", table=out, like=written_like(unlabelled), safe=safe_csv) as write:
        write(rows, Columns(rows.select()))
    if json:
        figures = {"new_texts": found.new, "chosen": rows.height}
        print_json({"data": data, "unlabelled": unlabelled, **figures, "out": str(out)})
        return
    _show_chosen(found, truth.table, unlabelled, out)
    if not _not_one_file(data):
        say(f"then: {_to_apply(data, reading)} {shlex.quote(str(out))}")
    if rows.height < number:
        say(f"there are no more than {counted(rows.height, 'new text')}")


def _show_chosen(found: ToLabel, table: Table, unlabelled: str, out: Path) -> None:
    from glassformer.data.inputs import shown

    chosen = found.rows.height
    new = "without a label" if unlabelled == table.source else f"not in {table.source}"
    show(f"{unlabelled}: {counted(found.new, 'text')} {new}; {chosen:,} chosen")
    for row in found.rows.head(_SHOWN).iter_rows(named=True):
        show(one_line(f"  row {row['row']}: {beginning(shown(row['text']), _CHARACTERS_SHOWN)}"))
    _show_rest(chosen, out)
    names = [quoted(name) for name in table.label_columns]
    label = f"column{'s' if names[1:] else ''} {', '.join(names)}"
    if _not_one_file(table.source):
        show(f"\n{out}: fill in the {label}, and add these rows to {table.source}")
    else:
        show(f"\n{out}: {counted(chosen, 'row')}. Fill in the {label}")


def _show_rest(rows: int, out: Path) -> None:
    if rows > _SHOWN:
        show(f"  and {rows - _SHOWN:,} more, in {out}")


def _not_one_file(data: str) -> str | None:
    """Return what a table is that `--apply` cannot mend."""
    from glassformer.data.addresses import is_elsewhere
    from glassformer.data.known import KNOWN

    if is_elsewhere(data):
        return "no file here"
    return "a known data set" if data in KNOWN else "a folder" if Path(data).is_dir() else None


def _read(
    data: str, test: str | None, group: str | None, data_dir: Path | None, reading: Reading
) -> tuple[Truth, Table | None]:
    """Read the labels of the table, and the test table, and say what was found out about their columns."""
    source = reading.source(data, test)  # before scikit-learn is loaded: the table may be refused
    from glassformer.data.known import group_column
    from glassformer.data.splits import ValidationConfig
    from glassformer.labels.truth import truth_of

    sources = read_aloud(source, ValidationConfig(group=group or group_column(data, data_dir)), data_dir)
    truth = truth_of(sources.train, source.task, source.multilabel, fold=reading.fold_labels)
    return truth, sources.test


def _on_progress(what: str, share: float) -> None:
    if share == 0:
        doing(what)
    doing(f"{what}, {share:.0%}")


def _document(check: LabelCheck, truth: Truth, out: Path) -> dict[str, Any]:
    from glassformer.labels.findings import WHYS

    return {
        "data": truth.table.source,
        "rows": check.rows,
        "labels": list(check.labels),
        "findings": {why: check.of_kind(why).height for why in WHYS},
        **truth.figures(check),
        "learning_curve": check.curve and _curve_document(check.curve),
        "out": str(out),
    }


def _curve_document(curve: LearningCurve) -> dict[str, Any]:
    return {
        "rows": list(curve.rows),
        **(
            {"mean_errors": [float(f"{error:.6g}") for error in curve.errors]}
            if curve.of_numbers
            else {"accuracies": [round(accuracy, 4) for accuracy in curve.accuracies]}
        ),
        "more": curve.gain.more,
        "gain": _gain_document(curve.gain),
        "gains": [{"more": gain.more, **_gain_document(gain)} for gain in curve.gains],
    }


def _gain_document(gain: Gain) -> dict[str, float]:
    return {name: float(f"{getattr(gain, name):.4g}") for name in ("value", "low", "high")}


def _show_found(check: LabelCheck, truth: Truth, out: Path) -> None:
    from glassformer.labels.findings import DOUBTFUL, OF_LABELS, WHYS
    from glassformer.labels.learning_curve import fewest_rows

    show(f"{truth.table.source}: {counted(check.rows, 'row')}, {truth.in_words}. Row 1 is the first row of data.")
    show(f"Each row was answered by a model that had not seen it or near copies. {truth.agreement_in_words(check)}")
    if check.knows_nothing:
        show(
            f"This model is not clearly better than always giving {truth.one_answer}, so it cannot tell which rows are "
            "wrong, nor what more rows would bring: add rows, or check that the texts say what you want to learn."
        )
    elif check.knows_little:
        say("warning: this model knows little about your labels, so most of its doubts are its own mistakes")
    for why in WHYS:
        found = check.of_kind(why)
        if found.is_empty() and (why not in OF_LABELS or (why == DOUBTFUL and check.knows_nothing)):
            continue
        show(f"\n{why}: {counted(found.height, 'row')}")
        for row in found.head(_SHOWN).iter_rows(named=True):
            about = f"row {row['row']}, {_labels_of(row, truth)}{_other(row)}"
            show(one_line(f"  {about}: {beginning(row['text'], _CHARACTERS_SHOWN)}"))
        _show_rest(found.height, out)
        if why == DOUBTFUL and found.height > _SHOWN:
            show("  The first are most often wrong: read from the top, and stop where the labels are right.")
        if why == DOUBTFUL:
            _warn_of_rare_class(found, truth)
    if check.curve is not None:
        _show_curve(check.curve)
    elif not check.knows_nothing:
        show(
            f"\nmore labels: what they would bring cannot be told of fewer than {fewest_rows(len(check.labels)):,} rows"
        )


def _warn_of_rare_class(doubted: pl.DataFrame, truth: Truth) -> None:
    """Say if nearly all doubts are about a label that few rows have: a model gives it too rarely."""
    if doubted.height < _FEWEST_DOUBTS:
        return
    (label, other), count = Counter(doubted.select("label", "suggested_label").iter_rows()).most_common(1)[0]
    rows = Counter(truth.cells)
    if count >= _ONE_SIDED * doubted.height and rows[label] < rows[other]:
        say(
            f"warning: {count:,} of these {doubted.height:,} rows have the label {quoted(label)}, which is rarer than "
            f"{quoted(other)}; a model gives rare labels too rarely, so read the rows before you change any"
        )


def _show_curve(curve: LearningCurve) -> None:
    from glassformer.data.wording import short

    written = [short(error) if curve.of_numbers else f"{1 - error:.1%}" for error in curve.errors]
    columns = [(f"{rows:,}", cell) for rows, cell in zip(curve.rows, written, strict=True)]
    width = max(len(cell) for column in columns for cell in column) + 2
    show("\nmore labels: what they would bring")
    figure = "mean error" if curve.of_numbers else "accuracy"
    for name, cells in zip(("rows learned from", figure), zip(*columns, strict=True), strict=True):
        show(f"  {name:17}" + "".join(f"{cell:>{width}}" for cell in cells))
    if curve.errors[-1]:
        show(f"  Estimate: {curve.in_words()}.")


def _labels_of(found: dict[str, Any], truth: Truth) -> str:
    """Return the label of a row, and the suggested one with how sure the model is of it."""
    from glassformer.labels.findings import NONE

    label = found["label"] or NONE
    if found["suggested_label"] is None:
        return str(label)
    change = "" if found["suggested_label"] == label else f" → {found['suggested_label']}"
    return f"{label}{change} ({truth.measured(found[truth.measure])})"


def _other(found: dict[str, Any]) -> str:
    """Return which other row has this text, or nearly."""
    from glassformer.labels.findings import OF_TEST

    if found["other_row"] is None:
        return ""
    row = f"row {found['other_row']}" + (" of the test table" if found["why"] in OF_TEST else "")
    return f", as {row}" if found["similarity"] is None else f", like {row} (similarity {found['similarity']:.2f})"


def _apply(
    data: str,
    filled_in: Path,
    out: Path | None,
    data_dir: Path | None,
    reading: Reading,
    *,
    overwrite: bool,
    json: bool,
) -> None:
    """Write the mended table."""
    from glassformer.data.files import version_of
    from glassformer.data.rows import check_file
    from glassformer.labels.labelled import is_labelled, read_labelled
    from glassformer.labels.mend import default_out, mend, read_changes

    source = Path(data)
    if what := _not_one_file(data):
        raise UsageError(f"{data} is {what}; --apply mends a table in one file")
    check_new("--out", out := out or default_out(source), overwrite=overwrite)
    version = version_of(check_file(source))
    truth, _ = _read(data, None, None, data_dir, reading)
    doing(f"reading {filled_in}")
    labelled = read_labelled(filled_in, truth) if is_labelled(filled_in, truth.table) else None
    changes = labelled.filled if labelled else read_changes(filled_in, truth)
    doing(f"writing {out}")
    _show_mended(mend(source, out, truth, changes, labelled, version=version), labelled, truth.table, out, json=json)


def _show_mended(mended: Mended, labelled: Labelled | None, table: Table, out: Path, *, json: bool) -> None:
    from glassformer.labels.labelled import in_words

    if labelled is not None:
        for dropped in labelled.left_out:
            say(f"{labelled.source}: {in_words(dropped)}")
        if labelled.unquoted:
            rows = counted(labelled.unquoted, "row")
            say(f"{labelled.source}: in {rows}, the ' before a formula was taken away, which --safe-csv writes")
    if json:
        left_out = {} if labelled is None else {"left_out": sum(len(drop.rows) for drop in labelled.left_out)}
        print_json({"data": table.source, "out": str(out), **asdict(mended), **left_out})
        return
    if labelled is not None:
        filled = f", {mended.relabelled:,} that had no label before" if mended.relabelled else ""
        if labelled.repeats:
            own = mended.relabelled - labelled.repeats
            filled += f": the {own:,} you labelled, {labelled.repeats:,} more with the same texts"
        show(f"{out}: {counted(mended.rows, 'row')}; {mended.added:,} of them new{filled}")
        say("do not measure a model with the rows that --next chose: they are harder than random ones")
        return
    show(
        f"{out}: {counted(mended.rows, 'row')}; {mended.relabelled:,} with another label than before, "
        f"{mended.dropped:,} left out"
    )
