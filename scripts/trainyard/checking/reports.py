"""Write results for people and for programs: text, JSON, JUnit, SARIF."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree

from trainyard.checking.result import Result
from trainyard.findings import Finding
from trainyard.rules import REASONS, RULES

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(results: Sequence[Result]) -> str:
    """Give the report that a person reads in a terminal."""
    return "\n".join(line for result in results for line in _lines(result))


def as_json(results: Sequence[Result]) -> str:
    """Give all results as one JSON object with the key ``charts``."""
    return json.dumps({"charts": [result.as_dict() for result in results]}, indent=1)


def junit(results: Sequence[Result]) -> str:
    """Give a JUnit file: a suite for each chart, a case for each rule that was run."""
    root = ElementTree.Element("testsuites")
    for result in results:
        by_rule: dict[str, list[Finding]] = {rule: [] for rule in RULES}
        for found in result.findings:
            by_rule.setdefault(found.rule, []).append(found)
        failures = sum(1 for found in by_rule.values() if found)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=result.chart,
            tests=str(len(by_rule)),
            failures=str(failures),
            time=f"{result.seconds:.3f}",
        )
        for rule, findings in by_rule.items():
            case = ElementTree.SubElement(suite, "testcase", classname=result.chart, name=rule)
            if findings:
                failure = ElementTree.SubElement(case, "failure", message=findings[0].message)
                failure.text = "\n\n".join("\n".join(_told(found)) for found in findings)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def sarif(results: Sequence[Result]) -> str:
    """Give a SARIF file, as code hosts show beside the lines that it names."""
    findings = [found for result in results for found in result.findings]
    rules = sorted({found.rule for found in findings})
    driver = {
        "name": "trainyard",
        "rules": [{"id": rule, "shortDescription": {"text": _reason(rule)}} for rule in rules],
    }
    run = {"tool": {"driver": driver}, "results": [_sarif_result(found) for found in findings]}
    report = {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}
    return json.dumps(report, indent=1)


FORMATS: dict[str, Callable[[Sequence[Result]], str]] = {
    "text": text,
    "json": as_json,
    "junit": junit,
    "sarif": sarif,
}


def _lines(result: Result) -> list[str]:
    counts = result.counts
    lines = []
    for found in result.findings:
        lines += [*_told(found), ""]
    number = len(result.findings)
    verdict = f"{number} finding{'s' if number > 1 else ''}" if number else "clean"
    versions = f"{result.versions[0]}-{result.versions[-1]}" if result.versions else "none"
    again = ", from the cache" if result.cached else ""
    if not result.versions:
        lines.append(f"{result.chart}: {verdict}. A library: only its values were looked at.")
        return lines
    lines.append(
        f"{result.chart}: {verdict}. {counts.cases} cases, {counts.renders} renders, "
        f"{counts.objects} objects, Kubernetes {versions}, {result.seconds:.1f} s{again}."
    )
    if counts.random_rendered or counts.random_refused:
        lines.append(
            f"  Random values: {counts.random_rendered} sets rendered, {counts.random_refused} "
            f"refused by the chart's own checks, {counts.mutations} wrong ones tried."
        )
    if counts.no_schema:
        lines.append(
            f"  {counts.no_schema} objects were not validated, as no schema is known of: "
            f"{', '.join(result.unknown_kinds)}. Give their definitions with --crds."
        )
    if result.missing:
        lines.append(
            f"  Left out, as charts/ lacks them: {', '.join(result.missing)}. "
            "`helm dependency build` brings them."
        )
    for told in result.not_upgraded:
        lines.append(f"  No upgrade was compared, as the chart refuses it. {told}")
    if result.dynamic_reads:
        lines.append(
            f"  {len(result.dynamic_reads)} reads of values could not be followed: "
            f"{', '.join(result.dynamic_reads)}."
        )
    if counts.excepted:
        lines.append(f"  {counts.excepted} findings are explained by ci/check-exceptions.yaml.")
    return lines


def _told(found: Finding) -> list[str]:
    lines = [f"{found.rule}  {found.place}", f"  {found.message}"]
    if found.case:
        lines.append(f"  seen with: {found.case}")
    lines.append(f"  {found.remedy}")
    return lines


def _reason(rule: str) -> str:
    return REASONS.get(rule, rule)


def _sarif_result(found: Finding) -> dict[str, Any]:
    # Templates are named with their chart first, which is the folder's name as a rule.
    _, _, inside = found.template.partition("/")
    place: dict[str, Any] = {"artifactLocation": {"uri": inside or "Chart.yaml"}}
    if found.line:
        place["region"] = {"startLine": found.line}
    return {
        "ruleId": found.rule,
        "level": "error",
        "message": {"text": f"{found.message} {found.remedy}"},
        "locations": [{"physicalLocation": place}],
        "properties": {"object": found.object, "path": found.path, "case": found.case},
    }
