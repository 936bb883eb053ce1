"""The formats of tables, one file each. A new one is a file like `columnar.py` and an entry in `all_formats.py`."""
