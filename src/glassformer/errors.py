"""Errors meant for people: what was wrong, where, and what to do about it.

The command line prints the message alone, without a traceback, and exits with the class's `exit_code`.
"""


class GlassformerError(Exception):
    """The work could not be done (a run failed, a folder is damaged). The command line exits with 1."""

    exit_code = 1


class UsageError(GlassformerError):
    """The request itself cannot be met as it stands (bad flag, file, column, recipe). The command line exits with 2."""

    exit_code = 2
