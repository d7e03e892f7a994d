"""A clock for tests of what takes time."""


class Clock:
    """A clock that only sleeping moves. It does not begin at 0, as no real one does."""

    START = 100.0

    def __init__(self) -> None:
        self.now = self.START

    def __call__(self) -> float:
        """Give the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        assert seconds > 0
        self.now += seconds
