"""Files of Go modules that are read and never built, pinned like all else by go.sum."""

import json
from pathlib import Path

from trainyard import paths, tools
from trainyard.errors import TrainyardError
from trainyard.process import run

PINS = paths.TOOLS / "foreign-charts"


def folder(module: str) -> Path:
    """Give the folder of a pinned module in Go's module cache; fetched where it is not there."""
    version = tools.pinned_version(PINS.name, module)
    asked = ["go", "mod", "download", "-json", f"{module}@{version}"]
    done = run(asked, cwd=PINS, env=tools.go_environment(), check=False)
    answer = json.loads(done.stdout or "{}")
    if done.returncode != 0 or "Dir" not in answer:
        raise TrainyardError(
            f"The module {module} {version} cannot be had: {answer.get('Error', done.stderr)}"
        )
    return Path(answer["Dir"])
