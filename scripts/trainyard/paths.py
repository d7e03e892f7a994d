"""Where things lie: the checkout, what one checkout makes, and what a user's checkouts share."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

CHARTS = ROOT / "charts"
IMAGES = ROOT / "images"
TOOLS = ROOT / "scripts" / "tools"
WORK = ROOT / ".trainyard"
"""What this checkout made and git ignores: summaries, diagnoses."""

BUILD = ROOT / "build"
"""Reports for machines, such as JUnit files."""


def cache() -> Path:
    """Give the folder that a user's checkouts share: built tools, wheels, the node's state.

    ``TRAINYARD_CACHE`` names another one; else it follows the XDG base directories.
    """
    named = os.environ.get("TRAINYARD_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "trainyard"
