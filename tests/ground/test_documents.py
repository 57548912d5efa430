"""Files that a user wrote: what they say is what JSON would say, and nothing of it is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from otelcov.ground.documents import read_yaml
from otelcov.ground.errors import UsageError


def said(folder: Path, text: str) -> Any:
    file = folder / "file.yaml"
    file.write_text(text, encoding="utf-8")
    return read_yaml(file)


def test_dates_and_times_of_day_stay_as_they_were_written(tmp_path: Path) -> None:
    assert said(tmp_path, "{day: 2025-09-05, no_day: 2025-13-45, at: 12:30}") == {
        "day": "2025-09-05",
        "no_day": "2025-13-45",
        "at": "12:30",
    }


@pytest.mark.parametrize("value", ["🙂", 1e30, "1e3", "\x7f", None, [True, -1, 0.5]])
def test_a_file_in_json_says_what_json_says(tmp_path: Path, value: Any) -> None:
    assert said(tmp_path, json.dumps({"value": value}, indent="\t")) == {"value": value}


def test_a_mark_of_the_byte_order_is_not_part_of_the_text(tmp_path: Path) -> None:
    assert said(tmp_path, "\ufeff[1]") == said(tmp_path, "\ufeff- 1") == [1]


def test_what_is_merged_can_be_overridden(tmp_path: Path) -> None:
    assert said(tmp_path, "{a: &a {x: 1}, b: {<<: *a, x: 2}}")["b"] == {"x": 2}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1\na: 2", '"a" is given twice'),
        ('{"a": 1, "a": 2}', '"a" is given twice'),
        ("[" * 3000 + "]" * 3000, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("a: " + "1" * 5000, "it is not YAML"),
    ],
)
def test_what_cannot_be_read_whole_is_an_error(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        said(tmp_path, text)
