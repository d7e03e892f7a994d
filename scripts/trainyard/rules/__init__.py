"""Rules about rendered objects that API schemas do not know."""

from trainyard.rules.base import RULES, Problem, Render, Rule
from trainyard.rules.check import REASONS, Validated, check, validate
from trainyard.rules.external import named_by

__all__ = [
    "REASONS",
    "RULES",
    "Problem",
    "Render",
    "Rule",
    "Validated",
    "check",
    "named_by",
    "validate",
]
