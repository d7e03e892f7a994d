"""The commands about clusters, images and tests."""

import json
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from trainyard import demo as demonstration
from trainyard import diagnosis, images, testing, tools
from trainyard.cluster.choice import choose
from trainyard.console import Stages, out, say
from trainyard.kube import environment

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def up(as_json: Json = False) -> None:
    """Start the cluster and wait until it can run pods.

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


def down(
    with_images: Annotated[
        bool, typer.Option("--images", help="Also remove the images kept for the next start.")
    ] = False,
) -> None:
    """Stop the cluster and leave the host as it was."""
    cluster = choose()
    cluster.down(images=with_images)
    say(f"{cluster.name}: down.")


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


def kubeconfig() -> None:
    """Print the path of the chosen cluster's kubeconfig."""
    out.print(str(choose().kubeconfig()), markup=False)


def load_image(
    reference: Annotated[str, typer.Argument(help="The image's name, such as localhost/train:1.")],
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


def build_images() -> None:
    """Build the container images that are not built yet."""
    builder = images.Builder()
    for image in images.ALL:
        builder.build(image)
        out.print(image.reference, markup=False)


def kubectl(context: typer.Context) -> None:
    """Run the pinned kubectl against the chosen cluster."""
    _pass_on(tools.kubectl(), context.args)


def helm(context: typer.Context) -> None:
    """Run the pinned helm against the chosen cluster."""
    _pass_on(tools.helm(), context.args)


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


def demo(as_json: Json = False) -> None:
    """Train a real model on the cluster and prove it."""
    summary = demonstration.run_demo()
    if as_json:
        out.print_json(json.dumps(summary))


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


def register(app: typer.Typer) -> None:
    """Add these commands to the command line, in the order in which help shows them."""
    for command in (demo, test, up, down, status, kubeconfig):
        app.command()(command)
    app.command("load-image")(load_image)
    app.command("images")(build_images)
    app.command(context_settings=PASSED_ON)(kubectl)
    app.command(context_settings=PASSED_ON)(helm)
    app.command()(diagnose)
