"""Every format renders every sample: valid, escaped, and never 0 % or 100 % by rounding."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import jsonschema_rs
import pytest
from prometheus_client.parser import text_string_to_metric_families

from otelcov.coverage.observations import partial
from otelcov.coverage.snapshot import snapshot
from otelcov.ground.config import Config
from otelcov.report import BUILT_IN, Report, render, words
from tests.coverage.build import frame, run
from tests.report.samples import EVIL, SAMPLES, sample

GOLDEN = Path(__file__).parent / "golden"
_SUFFIX = {"text": "txt", "markdown": "md", "junit": "xml", "prometheus": "prom"}
every = pytest.mark.parametrize("format", BUILT_IN)
DIMENSIONS = ("tool", "path", "state", "boundary", "model")
each_sample = pytest.mark.parametrize("name", SAMPLES)


@every
@pytest.mark.parametrize("name", ["shop", "empty"])
def test_a_report_is_the_golden_file(format: str, name: str, request: pytest.FixtureRequest) -> None:
    """`OTELCOV_GOLDEN=1 pytest tests/report` writes them anew."""
    import os

    path = GOLDEN / f"{name}.{_SUFFIX.get(format, format)}"
    shown = render(sample(name), format)
    if os.environ.get("OTELCOV_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


@every
@each_sample
def test_no_format_lets_span_text_act(format: str, name: str) -> None:
    shown = render(sample(name), format)
    assert shown.endswith("\n")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)
    if format in ("html", "markdown", "junit", "svg"):
        assert "<img" not in shown.replace("<image", "")
        assert shown.count("<script") == (format == "html")


@each_sample
def test_the_json_is_valid_by_its_published_schema(name: str) -> None:
    schema = json.loads(files("otelcov.report").joinpath("snapshot.schema.json").read_text())
    document = json.loads(render(sample(name), "json"))
    jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(document)


@each_sample
def test_junit_and_svg_are_xml(name: str) -> None:
    suites = ElementTree.fromstring(render(sample(name), "junit"))
    assert int(suites.get("tests", 0)) == len(suites.findall(".//testcase"))
    assert int(suites.get("failures", 0)) == len(suites.findall(".//failure"))
    ElementTree.fromstring(render(sample(name), "svg"))


@each_sample
def test_csv_cells_are_no_formulas_and_keep_their_columns(name: str) -> None:
    rows = list(csv.reader(StringIO(render(sample(name), "csv"))))
    assert {len(row) for row in rows} == {14}
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@")]


def test_csv_names_a_declared_delegation_for_what_it_is() -> None:
    rows = csv.DictReader(StringIO(render(sample("shop"), "csv")))
    sections = {row["section"] for row in rows if row["name"] == "critic"}
    assert sections == {"delegation"}


@each_sample
def test_prometheus_can_read_it(name: str) -> None:
    families = {f.name: f for f in text_string_to_metric_families(render(sample(name), "prometheus"))}
    snapshot = sample(name).snapshot
    known = [d["dimension"] for d in snapshot["coverage"]["dimensions"] if d["score"] is not None]
    found = families["otelcov_coverage_ratio"].samples if known else []
    assert [s.labels["dimension"] for s in found] == known


@each_sample
def test_html_asks_nothing_of_anyone(name: str) -> None:
    shown = render(sample(name), "html")

    class Reader(HTMLParser):
        tags: list[str]
        links: list[tuple[str, str | None]]

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.append(tag)
            self.links += [
                (k, v) for k, v in attrs if k in ("src", "href", "action", "srcset", "data") or k[:2] == "on"
            ]

    reader = Reader()
    reader.tags, reader.links = [], []
    reader.feed(shown)
    assert not reader.links
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(reader.tags)
    assert "@import" not in shown and not re.search(r"url\((?!#)", shown)
    assert "default-src &#39;none&#39;" in shown or "default-src 'none'" in shown


def test_text_fits_its_width() -> None:
    for width in (80, 120):
        for name in SAMPLES:
            lines = render(sample(name), "text", width=width).splitlines()
            assert max(map(len, lines)) <= width, name


@each_sample
def test_narrow_text_cuts_neither_names_of_dimensions_nor_numbers(name: str) -> None:
    report = sample(name)
    groups = [{**report.snapshot, "group": g} for g in ("1.0", "a release with a long name")]
    for width in (40, 60, 66):
        shown = render(replace(report, by="release", groups=groups), "text", width=width)
        lines = shown.splitlines()
        assert max(map(len, lines)) <= width
        if report.snapshot["runs"]["total"]:
            assert sum(line[:10].strip() == d for d in DIMENSIONS for line in lines) >= 5, shown
            assert "1.0" in shown and "a release" in shown and "counts" in shown and "basis" in shown
            assert words.percent(report.snapshot["coverage"]["overall"], "-") in shown


def test_restricted_attempts_are_told_as_the_calls_and_requests_they_are() -> None:
    report = sample("shop")
    (violated,) = [e for e in report.snapshot["edges"]["restricted"] if e["calls"]]
    asked = {**violated, "calls": 2, "requested": 3, "tool": "cancel_" + "very_" * 20 + "long"}
    edges = {**report.snapshot["edges"], "restricted": [asked], "restricted_attempts": 5}
    shown = render(replace(report, snapshot={**report.snapshot, "edges": edges}), "text")
    assert "5 attempts (of 1 edge: 1 violated, 0 resisted, 0 never probed)" in shown
    assert f"2 calls and 3 only requested, trace {violated['example_trace'][:8]}…" in shown


def test_what_was_seen_elsewhere_stands_in_columns() -> None:
    report = sample("shop")
    row = {"item": "planner -> worker", "share": 0.5, "example_traces": []}
    seen = {"dimension": "delegation", "uncovered": [row], "known": 1, "exercised": 0}
    gaps = {**report.gaps, "dimensions": [*report.gaps["dimensions"], seen]} if report.gaps else {"dimensions": [seen]}
    lines = render(replace(report, gaps=gaps), "text").partition("never tested\n")[2].partition("\n  and ")[0]
    starts = {re.match(r" +\S+  (\S+ +)", line).end() for line in lines.split("\n\n")[0].splitlines()}  # type: ignore[union-attr]
    assert len(starts) == 1, lines


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_an_overall_score_of_some_dimensions_says_of_how_many(format: str) -> None:
    assert "; 4 of 5 dimensions known" in render(sample("hostile"), format)
    assert "dimensions known" not in render(sample("shop"), format)


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0 ms"), (0.04, "<0.1 ms"), (0.36, "0.4 ms"), (7.2, "7 ms"), (1500.0, "1.5 s")]
)
def test_what_took_some_time_took_more_than_none(value: float, shown: str) -> None:
    assert words.milliseconds(value) == shown


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_a_restricted_tool_that_was_called_is_told_as_one(format: str) -> None:
    report = sample("shop")
    assert report.snapshot["coverage"]["dimensions"][0]["undeclared"] == ["cancel_booking"]
    assert re.search(r"cancel\\?_booking \(restricted\)", render(report, format))


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_boundaries_beside_the_known_ones_are_no_breach_of_a_declaration(format: str) -> None:
    report = sample("shop")
    dimensions = [
        {**d, "undeclared": ["repeated_call"]} if d["dimension"] == "boundary" else d
        for d in report.snapshot["coverage"]["dimensions"]
    ]
    coverage = {**report.snapshot["coverage"], "dimensions": dimensions}
    shown = render(replace(report, snapshot={**report.snapshot, "coverage": coverage}), format)
    assert "also reached" in shown and "boundary undeclared" not in shown


def test_one_thing_is_told_in_the_singular() -> None:
    tool = {"dimension": "tool", "covered": 1, "known": None}
    assert [words.counts({**tool, "known": n}) for n in (None, 1, 2)] == ["1 tool seen", "1 of 1 tool", "1 of 2 tools"]
    assert words.counts({**tool, "covered": 1234, "known": 5678}) == "1,234 of 5,678 tools"
    alone = snapshot(partial(frame(run("a/b")), Config()), Config())
    assert "1 distinct path in 1 run, 1 of them seen once" in render(Report(alone), "text")


def test_text_has_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in render(sample("shop"), "text", color=True)
    assert "\x1b[" not in render(sample("shop"), "text")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in render(sample("shop"), "text", color=True)


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0%"), (1, "100%"), (1e-9, "<0.1%"), (0.0004, "<0.1%"), (0.9996, ">99.9%"), (1 - 1e-12, ">99.9%"),
     (0.5, "50.0%"), (0.999, "99.9%"), (None, "unknown")],
)  # fmt: skip
def test_percents_are_never_rounded_to_the_ends(share: float | None, shown: str) -> None:
    assert words.percent(share) == shown


@every
def test_an_estimate_at_its_end_is_printed_as_a_bound(format: str) -> None:
    path = sample("sure").snapshot["coverage"]["dimensions"][1]
    assert path["score"] == 1.0 and path["method"] == "good_turing"
    assert words.score(path).startswith(">= ")
    if format in ("text", "markdown", "html"):
        low = f"{path['interval']['low'] * 100:.1f}%"
        assert low in render(sample("sure"), format)


@every
def test_an_unknown_score_is_never_a_number(format: str) -> None:
    assert sample("blind").snapshot["coverage"]["dimensions"][0]["score"] is None
    shown = render(sample("blind"), format)
    if format in ("text", "markdown", "html"):
        assert "unknown" in shown
    if format == "json":
        assert json.loads(shown)["edges"]["gate_passed"] is None


def test_names_are_shown_with_what_they_hide() -> None:
    assert words.plain("a\x1b[31mb\u202ec\nd") == "a\\x1b[31mb\\u202ec\\nd"
    assert words.item("") == "(no step)"
    assert "\x1b" in EVIL


def test_equal_input_gives_equal_bytes() -> None:
    sample.cache_clear()
    first = {f: render(sample("shop"), f) for f in BUILT_IN}
    sample.cache_clear()
    assert first == {f: render(sample("shop"), f) for f in BUILT_IN}


def test_a_report_without_groups_has_no_key_for_them() -> None:
    assert "by" not in Report(sample("shop").snapshot).as_json()


@pytest.mark.parametrize("format", sorted(set(BUILT_IN) - {"svg"}))
def test_every_format_that_has_room_tells_the_groups(format: str) -> None:
    report = sample("shop")
    shown = render(replace(report, by="service", groups=[report.groups[0] | {"group": "kiosk-7"}]), format)
    assert "kiosk-7" in shown.replace("\\", "")
    assert "kiosk-7" not in render(replace(report, by=None, groups=[]), format).replace("\\", "")
