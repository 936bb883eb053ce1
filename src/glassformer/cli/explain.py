"""`glassformer explain`: why a model gave an answer."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.explain_file import explain_file, time_of_a_long
from glassformer.cli.hints import check_order, is_file
from glassformer.cli.options import Asking, Encoding, Model, Query, SafeCsv, TextColumn
from glassformer.cli.output import (
    Piece,
    doing,
    insist,
    one_line,
    print_json,
    print_table,
    say,
    say_note,
    shortened,
    show,
    show_painted,
)
from glassformer.cli.rows_to_answer import TEXT_IS_A_COLUMN, given_rows, table_file
from glassformer.cli.there import text_file
from glassformer.cli.writers import check_new, check_out
from glassformer.data.lines import lines_of
from glassformer.data.wording import counted, label_text
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.explanation.explanation import Explanation
    from glassformer.explanation.neighbours import Neighbour
    from glassformer.explanation.shares import WordShare
    from glassformer.prediction.answering import Answering
    from glassformer.prediction.nearest import NearestTexts

_WORDS_SHOWN = 8
_HEADS_SHOWN, _WORDS_OF_HEAD = 5, 4
_LONGEST_PASSAGE, _LONGEST_TEXT = 160, 100  # characters
_STRONG, _WEAK = 0.5, 0.1  # shares of the strongest word from which on a word is painted

Method = Annotated[
    str | None,
    typer.Option(
        help="How the transformer is explained: shapley, integrated-gradients, gradient-x-input, occlusion, "
        "leave-one-out or rollout; docs/how-to/explain.md compares them. Default: shapley, or integrated-gradients for "
        "texts of more than 32 words. Counting is exact and needs no method."
    ),
]
Nearest = Annotated[
    bool,
    typer.Option(
        "--nearest",
        help="Show the training texts that are nearest to the text. The model must be trained with --keep-texts.",
    ),
]


def explain(
    model: Model,
    given: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text. - reads it from standard input.")
    ] = None,
    file: Annotated[str | None, typer.Option(help="Explain the answers to a table of texts, a row for each.")] = None,
    encoding: Encoding = None,
    query: Query = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file for the rows of --file: .xlsx, .csv, .tsv or .jsonl, also with .gz. "
            "Default: CSV on standard output."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file in --out or --html.")] = False,
    text: TextColumn = None,
    safe_csv: SafeCsv = None,
    label: Annotated[str | None, typer.Option(help="Explain this label. Default: the most probable one.")] = None,
    method: Method = None,
    counterfactual: Annotated[
        bool, typer.Option("--counterfactual", help="Search for a small change of words that turns the answer.")
    ] = False,
    above: Annotated[
        float | None,
        typer.Option(
            metavar="<float>",
            help="With --counterfactual, for a number: move the answer above this. Default: out of its interval.",
        ),
    ] = None,
    below: Annotated[
        float | None,
        typer.Option(metavar="<float>", help="With --counterfactual, for a number: move the answer below this."),
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads", help="Show what each attention head adds to the answer, and where it looks.")
    ] = False,
    neighbours: Annotated[
        bool,
        typer.Option(
            "--neighbours",
            help="For each of the strongest words, show the words with the nearest embeddings, and in the body.",
        ),
    ] = False,
    nearest: Nearest = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page with the explanation to this file.")] = None,
    *,
    run: Asking,
) -> None:
    """Show what each word adds to an answer, by each reader."""
    if given is not None:
        check_order(model, given, option="--file ")
    asked = {
        "label": label, "counterfactual": counterfactual, "above": above, "below": below, "heads": heads,
        "neighbours": neighbours, "nearest": nearest,
    }  # fmt: skip
    of_a_file = {"out": out, "text": text, "overwrite": overwrite and html is None, "safe-csv": safe_csv}
    table = table_file(file, query, encoding, typed=given not in (None, "-"))
    _check(given, table, {**asked, "html": html}, of_a_file, json=run.json)
    check_new("--html", html, overwrite=overwrite)
    text_file(table)
    from glassformer.explanation.by_reader import check_method
    from glassformer.prediction.load_answering import load_answering

    check_method(method)
    predictor = load_answering(model, device=run.device)
    if predictor.trained.config.transformer_is_silent:
        _note_silent(predictor.trained.config.asked_in_words, method=method, heads=heads)
    if table is not None:
        explain_file(predictor, table, out, text, method=method, safe_csv=safe_csv, json=run.json)
    else:
        if given == "-":
            given = "\n".join(lines_of(sys.stdin.buffer, "standard input", on_note=say_note))
        _explain_text(predictor, given or "", html, json=run.json, method=method, **asked)


def _note_silent(readers: str, *, method: str | None, heads: bool) -> None:
    """Say which of the options show nothing, because they are about a transformer that takes no part in the answer."""
    answers = f"note: the model answers by {readers} alone"
    if method is not None:
        say(f"{answers}, whose shares are exact, so --method changes nothing")
    if heads:
        insist(f"{answers}, so there is nothing to show for --heads")


def _explain_text(predictor: Answering, given: str, html: Path | None, *, json: bool, **asked: Any) -> None:
    """Print the explanation of a text, and write its page."""
    from glassformer.explanation.explain import explain as explain_text
    from glassformer.explanation.neighbours import body_reader_of
    from glassformer.explanation.page import write_explanation

    if is_file(given):
        say(f"note: {given} is a file, but it was read as a text; --file {given} explains the rows of the file")
    if predictor.trained.config.inputs is not None:
        (_, (given,)) = given_rows(predictor, [given])
    doing("explaining" + time_of_a_long(predictor, given, "the text"))
    found = explain_text(predictor, given, **asked)
    if asked["neighbours"] and not (found.neighbours or found.near_in_body):
        body = body_reader_of(predictor.trained)
        why = "the model holds no vectors of these words"
        if body is not None and body.origin == "own":
            why = "the model learned word vectors from its own texts, and does not keep them"
        insist(f"note: {why}, so there is nothing to show for --neighbours")
    if html is not None:
        write_explanation(html, found)
        say(f"page: {html}")
    if found.unlike_training:
        say("warning: the text is unlike the training data; its answer means little")
    if json:
        print_json(found.as_json())
    else:
        _show_explanation(found)


def _check(
    given: str | None, file: Path | None, of_a_text: Mapping[str, Any], of_a_file: Mapping[str, Any], *, json: bool
) -> None:
    """Refuse options that do not go together, before a model is loaded."""
    if file is None and of_a_file["text"] is not None:
        raise UsageError(TEXT_IS_A_COLUMN)
    if (given is None) == (file is None):
        raise UsageError("give a text or --file TABLE" + (", not both" if file else ""))
    for name in (
        name for name, value in (of_a_file if file is None else of_a_text).items() if value not in (None, False)
    ):
        if file is None:
            with_html = " or --html" if name == "overwrite" else ""
            raise UsageError(f"--{name} goes with --file{with_html}; the explanation of a text is printed")
        raise UsageError(f"--{name} goes with a text, not with --file; leave it out")
    out, overwrite = of_a_file["out"], of_a_file["overwrite"]
    if out is not None:
        check_out(out, file, overwrite=overwrite)
    elif file is not None and (overwrite or json):
        if json:
            raise UsageError("--json summarises what --out holds; add --out FILE.jsonl, or leave out --json")
        raise UsageError("--overwrite goes with --out; leave it out")
    if of_a_file["safe-csv"] and out is not None and "json" in out.name:
        raise UsageError("--safe-csv is for reasons as CSV or TSV; leave it out")


def _show_explanation(found: Explanation) -> None:
    """Print the answer, the painted text, the strongest words, the verdict, and what else was asked for."""
    show(f"{found.headline}\n")
    if found.asked.also_given:
        say(f"note: --label {shlex.quote(str(found.asked.also_given[0]))} explains another label of the answer")
    show_painted(Piece(piece.text, _paint(piece.side, piece.strength)) for piece in found.pieces())
    show()
    show()
    print_table(_table(found))
    for rule in found.rules:
        show(str(rule))
    show(f"\n{found.verdict}")
    _show_passage(found)
    if found.counterfactual is not None:
        show(f"\n{found.counterfactual.sentence}")
        if found.counterfactual.changes:
            show(f"The answer is then {found.counterfactual.shown}.")
    if found.heads:
        show(f"\nThe heads that move the {found.asked.whole} most, and the words that they look at:")
        print_table(_heads(found), others=str.ljust)
    _show_neighbours("the embeddings", found.neighbours)
    _show_neighbours(found.where_near, found.near_in_body)
    if found.nearest is not None:
        _show_nearest(found.nearest)


def _show_neighbours(where: str, neighbours: Mapping[str, Sequence[Neighbour]]) -> None:
    from glassformer.explanation.explanation import in_list

    if neighbours:
        show(f"\nNearest words in {where}:")
        lines = [(word, ", ".join(in_list(near.word) for near in nearest)) for word, nearest in neighbours.items()]
        print_table(lines, others=str.ljust)


def _show_nearest(nearest: NearestTexts) -> None:
    show(f"\nNearest training texts, by the {nearest.compared}:")
    if nearest.texts:
        print_table(
            [
                (
                    f"{near.similarity:.3f}".replace("-", "−"),
                    label_text(near.label),
                    f"row {near.row:,}",
                    shortened(one_line(near.text), _LONGEST_TEXT),
                )
                for near in nearest.texts
            ],
            others=str.ljust,
        )
    if nearest.remark:
        show(nearest.remark)


def _table(found: Explanation) -> list[tuple[str, ...]]:
    """Return the lines of the strongest words and of what the margin holds besides."""
    readers = found.readers if len(found.readers) > 1 else ()
    strongest, others = found.strongest(_WORDS_SHOWN)
    heading = "all occurrences of a word together" if len(found.words) > _WORDS_SHOWN else ""
    lines = [(heading, *readers, "both" if len(readers) == 2 else "all" if readers else "share")]
    lines += [_line(found, name, words, readers) for name, words in strongest]
    if others:
        lines.append(_line(found, f"the other {counted(len(others), 'word')}", others, readers))
    return lines + [(name, *("",) * len(readers), found.asked.written(value)) for name, value in found.rest]


def _line(found: Explanation, name: str, words: Sequence[WordShare], readers: Sequence[str]) -> tuple[str, ...]:
    shares = (*(sum(word.shares[reader] for word in words) for reader in readers), sum(word.total for word in words))
    return name, *map(found.asked.written, shares)


def _paint(side: str, strength: float) -> str:
    """Return the paint of a word: its side, and whether it is strong."""
    return f"strongly {side}" if strength >= _STRONG else side if strength >= _WEAK else "plain"


def _show_passage(found: Explanation) -> None:
    if (passage := found.deciding) is None:
        return
    words = sum(passage.start <= word.start < passage.end for word in found.words)
    show(
        f"\nThe transformer read {len(found.passages)} overlapping passages. This one, of {words:,} words, "
        f"{found.asked.sides[0]} most ({found.asked.written(passage.margin)} by itself):"
    )
    show(shortened(one_line(found.text[passage.start : passage.end]), _LONGEST_PASSAGE))


def _heads(found: Explanation) -> list[tuple[str, ...]]:
    """Return the lines of the strongest heads, each with the words that it looks at."""
    from glassformer.explanation.explanation import in_list

    lines = list[tuple[str, ...]]()
    for head in sorted(found.heads, key=lambda head: -abs(head.share))[:_HEADS_SHOWN]:
        seen = sorted(zip(head.attention, found.words, strict=True), key=lambda pair: -pair[0])[:_WORDS_OF_HEAD]
        looked_at = ", ".join(f"{in_list(word.word)} {attention:.0%}" for attention, word in seen)
        lines.append((f"block {head.layer}, head {head.head}", found.asked.written(head.share), looked_at))
    return lines
