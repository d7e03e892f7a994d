"""The helm commands that the documents tell are run, as a shell reads them."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from trainyard import tools

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "charts/tf-cluster/README.md", "docs/choosing.md")
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
MAKES_OBJECTS = re.compile(r"helm (install|upgrade|template) .+", re.DOTALL)
FLAGS = re.compile(r"--(set|set-string|set-json|values)[ =].+")

NOT_RUN = {
    "helm template | kubectl apply": "It names a way of working, and no release.",
    "helm upgrade --set worker.replicas=4": "It names no release; the flag is run with one above.",
}
"""What stands in the documents and is not run, each with why."""


def told() -> Iterator[tuple[str, str]]:
    """Every command of every document: those in blocks, and flags that the text names."""
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for block in BLOCK.findall(text):
            for line in block.replace("\\\n", " ").splitlines():
                if MAKES_OBJECTS.fullmatch(line):
                    yield document, line
        for span in SPAN.findall(BLOCK.sub("", text)):
            if MAKES_OBJECTS.fullmatch(span):
                yield document, span
            elif FLAGS.fullmatch(span):
                yield document, f"helm install my charts/tf-cluster {span}"


COMMANDS = list(dict.fromkeys(told()))


@pytest.fixture
def shell(tmp_path: Path):
    """Give a function that runs a command in a shell whose helm renders, and installs nothing."""
    stand_in = tmp_path / "helm"
    stand_in.write_text(
        "#!/bin/bash\n"
        "shift\n"
        # Only an upgrade in a cluster has values to use again.
        'for each in "$@"; do [ "$each" = --reuse-values ] || kept+=("$each"); done\n'
        f'exec {shlex.quote(str(tools.helm()))} template "${{kept[@]}}"\n'
    )
    stand_in.chmod(0o755)

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"PATH={shlex.quote(str(tmp_path))}:$PATH; {command}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("document", "command"),
    [each for each in COMMANDS if each[1] not in NOT_RUN],
    ids=lambda it: " ".join(it.split())[:70],
)
def test_a_command_of_the_documents_makes_objects(shell, document, command):
    done = shell(command)
    assert done.returncode == 0, f"{document}: {command}\n{done.stderr}"
    kinds = {each["kind"] for each in yaml.safe_load_all(done.stdout) if each}
    assert {"Service", "ConfigMap"} <= kinds


def test_what_is_not_run_is_there():
    commands = {command for _, command in COMMANDS}
    assert set(NOT_RUN) <= commands
    assert len(commands - set(NOT_RUN)) > 6


def test_braces_are_read_as_a_shell_reads_them(shell):
    done = shell("helm install my charts/tf-cluster --set volumes.{logs,models}.enabled=false")
    assert done.returncode != 0
