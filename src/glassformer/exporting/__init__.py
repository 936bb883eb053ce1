"""Exporting: a trained classifier in the formats of other libraries."""
