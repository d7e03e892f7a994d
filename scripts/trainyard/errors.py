"""The one error that a person is meant to read."""


class TrainyardError(Exception):
    """What went wrong, where, and what to do about it.

    ``message`` says what is wrong; ``remedy``, where there is one, says what to do.
    The command line prints both without a traceback and ends with ``status``.
    """

    status = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message if not remedy else f"{message}\n{remedy}")
        self.message = message
        self.remedy = remedy
