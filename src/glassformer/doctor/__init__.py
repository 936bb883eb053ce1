"""The checks to make on one's own data and model before a long run. Start at examine.py."""
