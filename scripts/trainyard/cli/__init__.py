"""The command line: thin functions over the package, and the one place that ends the process."""

import os
import sys

import typer

from trainyard.cli import charts, clusters
from trainyard.console import console
from trainyard.errors import TrainyardError

app = typer.Typer(
    help="Helm charts for distributed training: check charts, run a cluster, prove both.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
clusters.register(app)
charts.register(app)


def main() -> None:
    """Run the command line; an error that a person is meant to read has no traceback.

    Status 1 says that something was found or failed, 2 that what was asked cannot be done.
    """
    try:
        app()
    except TrainyardError as error:
        console.print(f"trainyard: {error.message}", markup=False, style="bold red")
        if error.remedy:
            console.print(error.remedy, markup=False)
        sys.exit(error.status)
    except KeyboardInterrupt:
        os._exit(130)
