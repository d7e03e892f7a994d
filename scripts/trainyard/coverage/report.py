"""Coverage for people: text by file and line, and one HTML page with the templates."""

import html
from collections.abc import Iterator
from pathlib import Path

from trainyard.coverage.measure import Coverage, Measured, describe
from trainyard.render.renderer import Branch


def lines(measured: Measured) -> list[str]:
    """Give the report as text: each gap with file, line and condition, then the numbers."""
    found = []
    for each in measured.charts:
        gaps = each.missing
        found += [f"{each.chart}/{b.file}:{b.line}: {describe(b)}" for b in gaps]
    found += measured.faults
    found += [f"{each.chart}: {text}" for each in measured.charts for text in each.outdated]
    found += [""] if found else []
    return [*found, *(summary(each) for each in measured.charts)]


def summary(coverage: Coverage) -> str:
    """Give the numbers of a chart, on one line."""
    branches, taken = len(coverage.branches), len(coverage.taken)
    excepted = f", {len(coverage.excepted)} excepted" if coverage.excepted else ""
    gaps = len(coverage.missing)
    missing = f"{gaps} missing" if gaps else "none missing"
    return f"{coverage.chart}: {taken} of {branches} branches taken{excepted}, {missing}"


def write_html(measured: Measured, file: Path) -> None:
    """Write one page that needs nothing else: every template, its branches coloured."""
    body = "".join(_chart(each) for each in measured.charts)
    faults = "".join(f"<li>{html.escape(text)}</li>" for text in measured.faults)
    page = PAGE.replace("@BODY@", (f"<ul class=faults>{faults}</ul>" if faults else "") + body)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page)


def _chart(coverage: Coverage) -> str:
    files = dict.fromkeys(branch.file for branch in coverage.branches)
    parts = (_file(coverage, file) for file in files)
    return f"<h2>{html.escape(summary(coverage))}</h2>{''.join(parts)}"


def _file(coverage: Coverage, file: str) -> str:
    here = [branch for branch in coverage.branches if branch.file == file]
    gaps = sum(branch in set(coverage.missing) for branch in here)
    state = "open" if gaps else ""
    title = f"{html.escape(file)} <small>{len(here) - gaps} of {len(here)}</small>"
    rows = "".join(_rows(coverage, file, here))
    return f"<details {state}><summary>{title}</summary><table>{rows}</table></details>"


def _rows(coverage: Coverage, file: str, here: list[Branch]) -> Iterator[str]:
    path = coverage.folder / file
    # A packed dependency has no files to read: its conditions stand for its lines.
    source = path.read_text().splitlines() if path.is_file() else []
    last = max([len(source), *(branch.line for branch in here)])
    for number in range(1, last + 1):
        branches = [branch for branch in here if branch.line == number]
        text = source[number - 1] if number <= len(source) else " ".join(b.text for b in branches)
        if source or branches:
            marks = "".join(_mark(coverage, branch) for branch in branches)
            yield f"<tr><td>{number}<td>{marks}<td><pre>{html.escape(text)}</pre></tr>"


def _mark(coverage: Coverage, branch: Branch) -> str:
    if branch in coverage.taken:
        state = "taken"
    else:
        reasons = [each.reason for each in coverage.exceptions if each.fits(branch)]
        state = f"excepted: {reasons[0]}" if reasons else "missing"
    colour = state.partition(":")[0]
    title = html.escape(f"{describe(branch)}: {state}", quote=True)
    sign = "else" if branch.way == "else" else branch.keyword
    return f'<span class={colour} title="{title}">{sign}</span>'


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Branches of templates</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
h2 { font-size: 1.1rem; }
summary { cursor: pointer; padding: .2rem 0; }
small { opacity: .7; }
table { border-collapse: collapse; width: 100%; }
td { padding: 0 .5rem; vertical-align: top; }
td:first-child { text-align: right; opacity: .5; width: 3rem; }
td:nth-child(2) { white-space: nowrap; width: 8rem; }
pre { margin: 0; white-space: pre-wrap; font: 12px/1.5 ui-monospace, monospace; }
span { border-radius: .2rem; font-size: 11px; margin-right: .2rem; padding: 0 .3rem; color: #fff; }
.taken { background: #1a7f37; } .missing { background: #cf222e; } .excepted { background: #6e7781; }
.faults { color: #cf222e; }
</style></head><body><h1>Branches of templates</h1>
<p>Each condition has two branches: the one that is written first, and its else, written or not.
<span class=taken>taken</span> by a case, <span class=excepted>excepted</span> with a reason,
<span class=missing>missing</span>.</p>
@BODY@</body></html>
"""
