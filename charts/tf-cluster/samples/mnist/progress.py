"""What a lost peer means: a free retry if there was progress, one that counts if there was none."""

from errors import NotReadyError, SampleError, TryAgainError


class Progress:
    """Which steps a restart need not do again."""

    def __init__(self) -> None:
        self.started = self.saved = 0

    def begin(self, step: int) -> None:
        """This run goes on from `step`."""
        self.started = self.saved = step

    def after_loss(self, loss: str) -> SampleError:
        """The error for the loss of a peer: worth a free retry only if this run got on."""
        if self.saved > self.started:
            return TryAgainError(f"{loss}; restart resumes from checkpoint step {self.saved}")
        outlook = "resumes from the same checkpoint" if self.saved else "begins anew"
        return NotReadyError(f"{loss}; no progress was saved: restart {outlook}")
