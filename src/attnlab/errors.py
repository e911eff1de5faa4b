"""The one family of errors.

Every message is a sentence a user can act on: what was wrong, where it stands, what would be right. The command line
prints it without a traceback and ends with ``exit_code``.
"""


class AttnlabError(Exception):
    """Anything attnlab raises on purpose."""

    exit_code = 1


class UsageError(AttnlabError, ValueError):
    """The caller's mistake: an unknown name, a value out of range, a bad setting."""

    exit_code = 2


class StoreError(AttnlabError):
    """The run store could not be read or written (full disk, read-only folder, damaged file)."""


class DamagedCheckpoint(StoreError):
    """A checkpoint whose files are missing, shortened or altered."""


class ForeignFile(StoreError):
    """A file in a run's folder that belongs to another run or step."""


class Contradiction(StoreError):
    """Two whole files of a run that do not agree, so that one of them was altered."""


class RunBusy(StoreError):
    """Another process holds the run."""


class RunFailed(AttnlabError):
    """A training run that cannot go on, such as one whose loss is no longer finite."""
