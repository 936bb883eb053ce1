"""The result tables of the documents, written from the committed results.

python benchmarks/tables.py            # writes every table anew
python benchmarks/tables.py --check    # writes nothing; names the pages that are out of date, and exits with 1
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tables_language import language_pages
from tables_new_words import new_words_pages
from tables_reproduce import reproduce_pages
from tables_variants import variant_pages

from glassformer.data.files import written_aside

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Write the tables, or say which are not as they would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = stale_pages()
    if options.check and stale:
        sys.exit(f"out of date: {', '.join(page.name for page in stale)}; run python benchmarks/tables.py")
    for page, text in stale.items():
        with written_aside(page) as aside:
            aside.write_text(text, encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


def stale_pages() -> dict[Path, str]:
    """The pages that are not what they should be, and what that is."""
    pages = reproduce_pages() | variant_pages() | language_pages() | new_words_pages()
    return {
        page: text for page, text in pages.items() if not page.is_file() or text != page.read_text(encoding="utf-8")
    }


if __name__ == "__main__":
    main()
