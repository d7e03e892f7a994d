"""What an upgrade of a release changes, what of it is refused, and what it ends or starts."""
