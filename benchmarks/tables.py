"""Write the tables and plots of the README and the docs from the committed results: `python -m benchmarks.tables`.

A table stands between `<!-- KIND: NAME -->` and `<!-- end -->`. NAME is the name of a result file without `.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.experiment import RESULTS, ROOT
from benchmarks.plots import plots
from benchmarks.tables_add import add_tables
from benchmarks.tables_aims import aims_table
from benchmarks.tables_assistant import answers_table, ways_tables
from benchmarks.tables_audit import audit_tables
from benchmarks.tables_automatic import automatic_tables
from benchmarks.tables_bench import bench_tables
from benchmarks.tables_common import Shown, fill, from_file, read
from benchmarks.tables_costs import costs_tables, later_tables
from benchmarks.tables_desk import desk_tables
from benchmarks.tables_distil import distil_tables
from benchmarks.tables_exported import installation_tables
from benchmarks.tables_faithfulness import faithfulness_tables
from benchmarks.tables_few import alone_tables, encoder_tables, few_tables, unlabelled_tables
from benchmarks.tables_inputs import inputs_tables
from benchmarks.tables_inside import explaining_tables, taps_tables
from benchmarks.tables_labels import forecast_tables, labels_tables, next_tables
from benchmarks.tables_language import language_model_tables, steering_tables
from benchmarks.tables_matrix import matrix_table
from benchmarks.tables_measured import attacks_table, measured_table
from benchmarks.tables_messes import messes_tables
from benchmarks.tables_minutes import minutes_tables
from benchmarks.tables_new_words import new_words_tables
from benchmarks.tables_processes import processes_tables
from benchmarks.tables_reproduce import read_results, reproduced
from benchmarks.tables_rows import million_rows_tables, rows_tables
from benchmarks.tables_search import search_tables
from benchmarks.tables_sentiment import sentiment_tables
from benchmarks.tables_serving import serving_tables
from benchmarks.tables_shards import shards_tables
from benchmarks.tables_slices import slices_tables
from benchmarks.tables_small import small_tables
from benchmarks.tables_speed import answering_tables, literal_tables, training_tables, wall_time_tables
from benchmarks.tables_targets import targets_tables
from benchmarks.tables_uneven import other_tables, uneven_tables
from benchmarks.tables_unlike import unlike_tables
from benchmarks.tables_variants import chart, compared


def main() -> None:
    """Write the pages and charts that are out of date."""
    for page, text in stale_pages().items():
        page.write_text(text, encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


def stale_pages() -> dict[Path, str]:
    """Return page or chart → its right content, for those that differ from it."""
    pages, shown = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], kinds(RESULTS)
    written = {page: fill(page.read_text(encoding="utf-8"), shown) for page in pages}
    for file in (RESULTS / "variants").glob("*.json"):
        written[ROOT / "docs" / "pictures" / f"variants-{file.stem}.svg"] = chart(read(file))
    written |= plots(RESULTS, ROOT / "docs" / "pictures")
    return {
        page: text for page, text in written.items() if not page.is_file() or text != page.read_text(encoding="utf-8")
    }


def kinds(results: Path) -> Mapping[str, Shown]:
    """Return KIND → how a result of that kind is shown."""
    systems = read_results(results / "reproduce")
    return {
        "aims": lambda _: aims_table(results),
        "matrix": lambda _: matrix_table(),
        "measured": lambda names: measured_table(results, names.split("+")),
        "attacks": lambda name: attacks_table(results / f"{name}.json", ROOT / "tests" / "attacks"),
        "results": lambda name: reproduced(name, systems),
        "variants": lambda name: compared(name, read(results / "variants" / f"{name}.json")),
        "bench-of-tables": from_file(results / "bench-of-tables", bench_tables),
        "ways": from_file(results, ways_tables),
        "answers": from_file(results, answers_table),
        "rows": from_file(results, rows_tables),
        "million-rows": from_file(results, million_rows_tables),
        "distil": from_file(results, distil_tables),
        "label-doctor": from_file(results, labels_tables),
        "learning-curve": from_file(results, forecast_tables),
        "label-next": from_file(results, next_tables),
        "desk": from_file(results, desk_tables),
        "add-rows": from_file(results, add_tables),
        "slices": from_file(results, slices_tables),
        "unlabelled": from_file(results, unlabelled_tables),
        "unlike": from_file(results, unlike_tables),
        "automatic": from_file(results, automatic_tables),
        "small-tables": from_file(results, small_tables),
        "targets": from_file(results, targets_tables),
        "costs": from_file(results, costs_tables),
        "later-rows": from_file(results, later_tables),
        "uneven": from_file(results, uneven_tables),
        "other-class": from_file(results, other_tables),
        "inputs": from_file(results, inputs_tables),
        "audit": from_file(results, audit_tables),
        "few-labels": from_file(results, few_tables),
        "few-unequal": from_file(results, few_tables),
        "encoder": from_file(results, encoder_tables),
        "readers-alone": from_file(results, alone_tables),
        "faithfulness": from_file(results, faithfulness_tables),
        "explaining": from_file(results, explaining_tables),
        "processes": from_file(results, processes_tables),
        "bulk-shards": from_file(results, shards_tables),
        "installation": from_file(results, installation_tables),
        "silent-taps": from_file(results, taps_tables),
        "search": from_file(results, search_tables),
        "sentiment": from_file(results, sentiment_tables),
        "training-speed": from_file(results, training_tables),
        "literal-speed": from_file(results, literal_tables),
        "answering-speed": from_file(results, answering_tables),
        "wall-time": from_file(results, wall_time_tables),
        "serving-load": from_file(results, serving_tables),
        "messes": from_file(results, messes_tables),
        "minutes": from_file(results / "minutes", minutes_tables),
        "language-model": from_file(results / "language-model", language_model_tables),
        "steering": from_file(results / "steering", steering_tables),
        "new-words": from_file(results / "new-words", new_words_tables),
    }


if __name__ == "__main__":
    main()
