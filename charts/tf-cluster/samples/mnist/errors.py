"""How the sample ends when something is wrong: one clear line and a meaningful exit code.

A job controller can act on these codes. 2 will fail again however often it is retried. 69 (the BSD
EX_UNAVAILABLE) may go away, but must count: a cluster that never gets on must not be retried for
ever. 75 (EX_TEMPFAIL) follows real progress, so it may be retried without being counted.
"""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_READY = 69
EXIT_TRY_AGAIN = 75


class SampleError(Exception):
    """An end that needs no traceback: the message says what is wrong, where, and what helps."""

    exit_code = EXIT_FAILED


class UsageError(SampleError):
    """The flags, TF_CONFIG or the named data do not fit; the same command will fail again."""

    exit_code = EXIT_USAGE


class NotReadyError(SampleError):
    """The cluster did not come together in time, or fell apart before there was any progress."""

    exit_code = EXIT_NOT_READY


class LostPeerError(NotReadyError):
    """A member of the cluster was lost. Where there was progress, it becomes a TryAgainError."""


class TryAgainError(SampleError):
    """The cluster was lost or has changed after progress; the same command resumes from there."""

    exit_code = EXIT_TRY_AGAIN
