"""The parts of a comparison of designs. Start at `compare.py`."""
