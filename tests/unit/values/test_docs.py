"""The value tables of a README are made from the schema, and told when they are stale."""

import json
from pathlib import Path

import pytest

from trainyard import docs, paths
from trainyard.errors import TrainyardError

ROLE = {
    "type": "object",
    "description": "A role.",
    "properties": {
        "image": {"type": "string", "description": "Its image.", "default": "", "examples": ["x"]},
        "mode": {"enum": ["fast", "slow"], "description": "How | why <b>.", "default": "fast"},
    },
}


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    count = {"type": "integer", "description": "How many.", "default": 1}
    two = {**ROLE, "properties": {**ROLE["properties"], "n": count}}  # type: ignore[dict-item]
    schema = {"type": "object", "properties": {"count": count, "one": ROLE, "two": two}}
    (tmp_path / "Chart.yaml").write_text("name: c\n")
    (tmp_path / "values.schema.json").write_text(json.dumps(schema))
    (tmp_path / "README.md").write_text(f"# c\n\n{docs.BEGIN}\n{docs.END}\n\nThe end.\n")
    return tmp_path


def test_tables_are_written_once_between_the_marks(chart):
    assert "+| `count`" in docs.stale(chart)
    assert docs.write(chart)
    assert not docs.write(chart)
    assert docs.stale(chart) == ""
    text = (chart / "README.md").read_text()
    assert text.startswith("# c\n")
    assert text.endswith("The end.\n")
    assert "| `count` | `1`     | How many. |" in text


def test_what_two_blocks_share_is_told_once(chart):
    docs.write(chart)
    text = (chart / "README.md").read_text()
    assert text.count("Its image") == 1
    assert "`image`, `mode` as in `one`." in text


def test_a_cell_stays_a_cell(chart):
    docs.write(chart)
    assert "How \\| why &lt;b>. One of `fast`, `slow`." in (chart / "README.md").read_text()


def test_a_change_of_the_schema_makes_them_stale(chart):
    docs.write(chart)
    schema = chart / "values.schema.json"
    schema.write_text(schema.read_text().replace("How many", "How very many"))
    assert "+| `count` | `1`     | How very many. |" in docs.stale(chart)


def test_a_readme_without_marks_is_an_error_that_says_what_to_write(chart):
    (chart / "README.md").write_text("# c\n")
    with pytest.raises(TrainyardError, match="Put these two lines"):
        docs.write(chart)


@pytest.mark.parametrize("chart", sorted(paths.CHARTS.iterdir()), ids=lambda path: path.name)
def test_the_charts_readmes_are_fresh(chart):
    assert docs.stale(chart) == ""
