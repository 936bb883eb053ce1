"""Labels as readers see them."""

from __future__ import annotations


def label_name(label: object) -> str:
    """Return a label of any type as a string, as a table would give it. A whole number loses its ".0"."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def label_text(label: object) -> str:
    """Return the label of a text for a reader, or its labels: "good", "comedy, drama", or "(no label)" for none."""
    return (", ".join(map(str, label)) or "(no label)") if isinstance(label, list) else str(label)
