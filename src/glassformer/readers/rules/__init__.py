"""The rules reader: phrases and patterns of a file that people write, which decide or weigh."""
