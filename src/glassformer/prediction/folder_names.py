"""The names of what lies in a model folder beside the model."""

CHECKPOINT_FOLDER, RUN_FILE, STATE_FILE = "checkpoint", "run.json", "state.safetensors"
"""The folder of an unfinished run, its file with the settings of the run, and its file with the state of training."""
EVALUATION_FOLDER, REPORT_FILE, FIGURES_FILE = "evaluation", "report.html", "metrics.json"
"""The folder that `evaluate` writes, and the files in it."""
SNAPSHOTS_FOLDER, TIME_LAPSE_FILE = "snapshots", "time-lapse.html"
"""The folder with the snapshots of training (see `tracing/time_lapse.py`), and the page that shows them."""
