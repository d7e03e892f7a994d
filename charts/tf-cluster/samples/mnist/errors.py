"""How the sample ends when something is wrong: one clear line and a meaningful exit code.

A job controller can act on these codes: 2 will fail again however often it is retried, 75 (the
BSD EX_TEMPFAIL) is worth another try, and training resumes from the newest checkpoint.
"""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_TRY_AGAIN = 75


class SampleError(Exception):
    """An end that needs no traceback: the message says what is wrong, where, and what helps."""

    exit_code = EXIT_FAILED


class UsageError(SampleError):
    """The flags, TF_CONFIG or the named data do not fit; the same command will fail again."""

    exit_code = EXIT_USAGE


class TryAgainError(SampleError):
    """A member of the cluster is missing or was lost; the same command may well succeed later."""

    exit_code = EXIT_TRY_AGAIN
