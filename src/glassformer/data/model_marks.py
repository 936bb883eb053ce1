"""The names of files by which the folder of a model is known."""

BODY_FILE = "body.json"
"""The file that describes word vectors."""
RECORD_FILE = "glassformer.json"
"""The file that marks a folder as an export, and says how it was made. Only such a folder is replaced."""
MARKS = ("config.json", BODY_FILE, RECORD_FILE)
