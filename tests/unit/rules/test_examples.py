"""Every rule finds something in its bad example, and nothing in its near miss."""

import pytest

from trainyard.rules.base import RULES, example
from trainyard.rules.check import check


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_bad_example_trips_the_rule(rule):
    assert list(rule.check(example(rule.bad)))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_near_miss_does_not(rule):
    assert list(rule.check(example(rule.near_miss))) == []


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_each_says_where_and_what_to_do(rule):
    for finding in check(example(rule.bad)):
        assert finding.message and finding.remedy and finding.chart == "example"


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_reason_is_one_sentence(rule):
    assert rule.reason.endswith(".") and rule.id == rule.id.lower()
