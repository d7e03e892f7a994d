"""The command line: thin functions over the package."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from trainyard import demo as demonstration
from trainyard import diagnosis, images, testing, tools
from trainyard.cluster.choice import choose
from trainyard.console import Stages, console, out, say
from trainyard.errors import TrainyardError
from trainyard.kube import environment

app = typer.Typer(
    help="Helm charts for distributed training: build the tools, run a cluster, prove the charts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@app.command()
def up(as_json: Json = False) -> None:
    """Start the cluster and wait until it answers DNS.

    TRAINYARD_CLUSTER chooses which cluster. node: the embedded Kubernetes (Linux, root).
    kind: needs Docker or Podman. kubeconfig:CONTEXT: a cluster of your own. Unset: kind
    where an engine answers, else node.
    """
    stages = Stages()
    choose().up(stages)
    if as_json:
        out.print_json(json.dumps(stages.report()))
    else:
        say(f"The cluster is up after {stages.total_s:.1f} s. Try: trainyard kubectl get nodes")


@app.command()
def down(
    with_images: Annotated[
        bool, typer.Option("--images", help="Also remove the images kept for the next start.")
    ] = False,
) -> None:
    """Stop the cluster and leave the host as it was."""
    cluster = choose()
    cluster.down(images=with_images)
    say(f"{cluster.name}: down.")


@app.command()
def status(as_json: Json = False) -> None:
    """Say whether the chosen cluster runs.

    Ends with status 0 when it does, else with 1.
    """
    cluster = choose()
    found = cluster.status()
    if as_json:
        report = {"cluster": cluster.name, "running": found.running, "detail": found.detail}
        out.print_json(json.dumps(report))
    else:
        out.print(f"{cluster.name}: {found.detail}", markup=False)
    raise typer.Exit(0 if found.running else 1)


@app.command()
def kubeconfig() -> None:
    """Print the path of the chosen cluster's kubeconfig."""
    out.print(str(choose().kubeconfig()), markup=False)


@app.command("load-image")
def load_image(
    reference: Annotated[str, typer.Argument(help="The image's whole name, such as me/train:1.")],
    archive: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, help="The image, as docker save or an OCI tool wrote it."
        ),
    ],
) -> None:
    """Load an image into the cluster's nodes, without a registry."""
    cluster = choose()
    cluster.load_image(archive, reference)
    say(f"{cluster.name}: the nodes know {reference}.")


@app.command("images")
def build_images() -> None:
    """Build the container images that are not built yet."""
    builder = images.Builder()
    for image in images.ALL:
        builder.build(image)
        out.print(image.reference, markup=False)


@app.command(context_settings=PASSED_ON)
def kubectl(context: typer.Context) -> None:
    """Run the pinned kubectl against the chosen cluster."""
    _pass_on(tools.kubectl(), context.args)


@app.command(context_settings=PASSED_ON)
def helm(context: typer.Context) -> None:
    """Run the pinned helm against the chosen cluster."""
    _pass_on(tools.helm(), context.args)


@app.command()
def diagnose(
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", help="Only this namespace; all where it is left out."),
    ] = "",
) -> None:
    """Write events, states and logs into one folder.

    Prints the folder's path.
    """
    out.print(str(diagnosis.write(choose().kubeconfig(), namespace, "by-hand")), markup=False)


@app.command()
def demo(as_json: Json = False) -> None:
    """Train a real model on the cluster and prove it."""
    summary = demonstration.run_demo()
    if as_json:
        out.print_json(json.dumps(summary))


@app.command()
def test(
    static: Annotated[
        bool, typer.Option("--static", help="Only what needs no cluster: lint, unit, render.")
    ] = False,
) -> None:
    """Lint the tree and run the tests (JUnit in build/)."""
    raise typer.Exit(testing.run_all(static=static))


def _pass_on(program: Path, arguments: list[str]) -> None:
    child = environment(choose().kubeconfig())
    raise typer.Exit(subprocess.run([program, *arguments], env=child, check=False).returncode)


def main() -> None:
    """Run the command line; an error that a person is meant to read has no traceback."""
    try:
        app()
    except TrainyardError as error:
        console.print(f"trainyard: {error.message}", markup=False, style="bold red")
        if error.remedy:
            console.print(error.remedy, markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        os._exit(130)
