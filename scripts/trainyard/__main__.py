"""Run the command line as ``python -m trainyard``."""

from trainyard.cli import main

main()
