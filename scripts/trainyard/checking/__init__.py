"""Check a chart: find its cases, render them in every way, and gather what is found."""
