"""The parts of a comparison of variants. Start at `comparison.py`."""
