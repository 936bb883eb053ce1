"""Checks of data and model before a long run. Start at examine.py."""
