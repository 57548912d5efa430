"""JUnit XML: a test case per threshold and dimension, also of each group; not enough data is an error, no pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from otelcov.report import Report, words


class Case(NamedTuple):
    name: str
    result: str  # pass | fail | no_data | skip
    message: str


def render(report: Report) -> str:
    """The verdicts; and every dimension, passed if it has a score and skipped if it has none."""
    verdicts = [
        Case(
            f"{v['target']} at least {v['minimum']:g}%",
            v["result"],
            f"{words.percent(None if v['value'] is None else v['value'] / 100)}: {v['reason'] or 'measured'}",
        )
        for v in report.verdicts
    ]
    if not report.snapshot["runs"]["total"]:
        verdicts.append(Case("runs", "no_data", "no agent run in this window"))
    violated = [
        Case(
            f"restricted {words.edge(e)}",
            "fail" if e["calls"] else "pass",
            f"{e['calls']} calls, {e['requested']} requested and not executed, example trace {e['example_trace']}",
        )
        for e in report.snapshot["edges"]["restricted"]
    ]
    measured = [("coverage", _dimensions(report.snapshot))]
    measured += [(f"coverage of {report.by} {group['group']}", _dimensions(group)) for group in report.groups]
    return suites("otelcov", [("thresholds", verdicts), *measured, ("restricted edges", violated)])


def _dimensions(snapshot: dict[str, Any]) -> list[Case]:
    return [
        Case(
            d["dimension"],
            "pass" if d["score"] is not None else "skip",
            f"{words.score(d)}, {words.counts(d)}, {words.basis(d)}",
        )
        for d in snapshot["coverage"]["dimensions"]
    ]


def suites(name: str, found: Sequence[tuple[str, Sequence[Case]]]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites name={_q(name)}{_counts([c for _, cs in found for c in cs])}>",
    ]
    for title, cases in found:
        if not cases:
            continue
        lines.append(f"  <testsuite name={_q(title)}{_counts(cases)}>")
        for case in cases:
            head = f"    <testcase classname={_q(f'{name}.{title}')} name={_q(case.name)}"
            kind = {"fail": "failure", "no_data": "error", "skip": "skipped"}.get(case.result)
            if kind is None:
                lines.append(f"{head}/>")
            else:
                lines += [f"{head}>", f"      <{kind} message={_q(case.message)}/>", "    </testcase>"]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _counts(cases: Sequence[Case]) -> str:
    number = {kind: sum(c.result == kind for c in cases) for kind in ("fail", "no_data", "skip")}
    return f' tests="{len(cases)}" failures="{number["fail"]}" errors="{number["no_data"]}" skipped="{number["skip"]}"'


def _q(text: str) -> str:
    # XML 1.0 has no way to write most control characters, so they are shown as escapes.
    return quoteattr(words.plain(text))
