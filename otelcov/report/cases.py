"""Judged cases as text, JSON, Markdown or JUnit; the summary in the words of the agent-TDD recipe."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from otelcov.report import json, junit, markdown, text, words

LABELS = {"pass": "PASS", "fail": "FAIL", "no_data": "NOT ENOUGH DATA", "not_observed": "NOT OBSERVED"}
_STYLES = {"pass": "green", "fail": "bold red", "no_data": "yellow", "not_observed": "yellow"}
_TITLES = {
    "single_turn": "SINGLE-TURN TEST SUMMARY",
    "multi_turn": "MULTI-TURN TEST SUMMARY",
    "overall": "OVERALL TEST SUMMARY",
}
_PASSED = {"single_turn": "Tests Passed", "multi_turn": "Turns Passed", "overall": "Total Passed"}
_RATE = {"single_turn": "Pass Rate", "multi_turn": "Pass Rate", "overall": "Overall Pass Rate"}
EXAMPLES = 3  # runs whose difference is printed for each turn that failed


def render(result: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(result)
    if format == "markdown":
        return _markdown(result)
    if format == "junit":
        return _junit(result)
    parts: list[RenderableType] = [part for case in result["cases"] for part in _case(case)]
    return text.printed(Group(*parts, *_summary(result)), **options)


def pass_rate(share: float | None) -> str:
    """With one decimal as the recipe prints it, but 0 and 100 only where they are exactly true."""
    if share is None:
        return "N/A"
    return f"{share * 100:.1f}%" if share in (0, 1) else words.percent(share)


def _case(case: dict[str, Any]) -> list[RenderableType]:
    head = Text.assemble(_label(case["result"]), " ", (words.plain(case["name"]), "bold"))
    if case["rule"] != "all" or case["needed"] > 1 or case["observed"] > 1:
        head.append(f"  {case['passed']} of {case['observed']} passed, rule {case['rule']}", "dim")
    found: list[RenderableType] = [head]
    if case["kind"] == "single_turn":
        if case["reason"] and case["result"] != "pass":
            head.append(f"\n  {words.plain(case['reason'])}")
        return found + _failures(case["turns"][0])
    if case["reason"] and case["result"] == "not_observed":
        head.append(f"\n  {words.plain(case['reason'])}")
    for turn in case["turns"]:
        line = Text(f"  Turn {turn['turn']}: ", "dim").append(
            words.short(words.plain(turn["input"] or "…"), 50), "default"
        )
        if turn["expects"] or turn["result"] != "pass":
            line.append("  ").append_text(_label(turn["result"]))
        if turn["reason"] and turn["result"] != "pass":
            line.append(f"\n    {words.plain(turn['reason'])}")
        found += [line, *_failures(turn)]
    return found


def _failures(turn: dict[str, Any]) -> list[RenderableType]:
    found: list[RenderableType] = []
    soft = sum(c["soft_errors"] for j in turn["judged"] for c in j["checks"])
    if soft:
        found.append(Text(f"  {soft} soft error{'' if soft == 1 else 's'} taken as ok", "yellow"))
    shown = [j for j in turn["judged"] if j["result"] != "pass"][:EXAMPLES]
    for judged in shown:
        for check in judged["checks"]:
            if check["result"] == "pass":
                continue
            line = Text(f"  {check['check']}", "bold").append(f"  trace {(judged['trace_ids'] or ['?'])[0]}", "dim")
            if len(shown) > 1 or not check["difference"]:
                line.append(f"\n    {words.plain(check['reason'])}", "default")
            found.append(line)
            if check["difference"]:
                found.append(_side_by_side(check["difference"]))
    return found


def _side_by_side(rows: list[dict[str, Any]]) -> Table:
    """Expected and actual; an arrow marks the first divergence."""
    table = Table(box=None, show_header=True, header_style="dim", padding=(0, 1), pad_edge=False)
    table.add_column("")
    table.add_column("expected", ratio=1, overflow="fold")
    table.add_column("actual", ratio=1, overflow="fold")
    first = next((n for n, row in enumerate(rows) if row["mark"] not in "= "), None)
    for n, row in enumerate(rows):
        style = "" if row["mark"] in "= " else "red" if n == first else "yellow"
        mark = f"  > {row['mark']}" if n == first else f"    {row['mark']}"
        table.add_row(
            mark,
            *(Text("" if row[side] is None else words.plain(row[side])) for side in ("expected", "actual")),
            style=style,
        )
    return table


def _summary(result: dict[str, Any]) -> list[RenderableType]:
    shown = Text()
    for kind, title in _TITLES.items():
        part = result["summary"][kind]
        if kind != "overall" and not (part["total"] or part["no_data"] or part["not_observed"]):
            continue
        rule = "=" * 50
        shown.append(f"\n{rule}\n{title}\n{rule}\n", "bold")
        shown.append(f"{_PASSED[kind]}: {part['passed']}/{part['total']}")
        for key, said in (("not_observed", "not observed"), ("no_data", "not enough data")):
            if part[key]:
                shown.append(f", {part[key]} {said}", "yellow")
        shown.append(f"\n{_RATE[kind]}: {pass_rate(part['pass_rate'])}{_interval(part['interval'])}\n")
        runs = part["runs"]
        if runs["total"] != part["total"]:
            share = f"{pass_rate(runs['pass_rate'])}{_interval(runs['interval'])}"
            shown.append(f"Runs Passed: {runs['passed']}/{runs['total']}, {share}\n")
        shown.append("".join(f"{line}\n" for line in _figures(part)))
    recorded = result["recorded"]
    if recorded:
        shown.append("\nVerdict against what was recorded\n", "bold")
        shown.append(
            f"               recorded pass  recorded fail\n"
            f"  case passed  {recorded['pass_match']:>13}  {recorded['fail_match']:>13}\n"
            f"  case failed  {recorded['pass_nomatch']:>13}  {recorded['fail_nomatch']:>13}\n"
        )
        if recorded["no_data"]:
            shown.append(f"  not enough data on {recorded['no_data']}\n", "yellow")
        shown.append(f"  they agree on {words.percent(recorded['agreement'])}\n")
    shown.append("\n").append_text(_label(result["result"]))
    return [shown]


def _figures(part: dict[str, Any]) -> list[str]:
    latency, tokens = part["latency_ms"], part["tokens"]
    lines = []
    if latency["mean"] is not None:
        lines.append(f"Average Latency: {latency['mean']:.2f} ms (p50 {latency['p50']:.2f}, p95 {latency['p95']:.2f})")
    else:
        lines.append("Average Latency: unknown")
    if tokens["mean"] is None:
        lines.append("Average Tokens: unknown")
    else:
        spent = f"in {words.number(part['input_tokens']['sum'])}, out {words.number(part['output_tokens']['sum'])}"
        lines.append(f"Average Tokens: {tokens['mean']:.2f} ({spent})")
    calls = f"Calls: model {words.number(part['llm_calls'])}, tool {words.number(part['tool_calls'])}"
    lines.append(f"{calls}; errors {words.number(part['errors'])}")
    if part["cost"] is not None:
        lines.append(f"Cost: {part['cost']:.4f}")
    return lines


def _interval(interval: dict[str, float] | None) -> str:
    return (
        ""
        if interval is None
        else f" (95 % interval {words.percent(interval['low'])} to {words.percent(interval['high'])})"
    )


def _label(result: str) -> Text:
    return Text(LABELS[result], _STYLES[result])


def _markdown(result: dict[str, Any]) -> str:
    cell = markdown.cell
    overall = result["summary"]["overall"]
    lines = [f"### otelcov test: {LABELS[result['result']].lower()}, {overall['passed']}/{overall['total']} passed", ""]
    lines += ["| case | turn | result | runs | why |", "| --- | ---: | --- | ---: | --- |"]
    for case in result["cases"]:
        for turn in case["turns"]:
            if not turn["expects"]:
                continue
            why = turn["reason"] if turn["result"] != "pass" else None
            row = [case["name"], turn["turn"] or "", LABELS[turn["result"]].lower()]
            row += [f"{turn['passed']}/{turn['observed']}", why or ""]
            lines.append(f"| {' | '.join(cell(part) for part in row)} |")
    lines += ["", "| | passed | pass rate | interval | latency p50 | p95 | tokens in | out | errors |"]
    lines.append("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in _TITLES:
        part = result["summary"][kind]
        latency = part["latency_ms"]
        lines.append(
            f"| {kind.replace('_', '-')} | {part['passed']}/{part['total']} | {pass_rate(part['pass_rate'])} "
            f"|{_interval(part['interval'])} "
            f"| {words.milliseconds(latency['p50'])} | {words.milliseconds(latency['p95'])} "
            f"| {words.number(part['input_tokens']['sum'])} | {words.number(part['output_tokens']['sum'])} "
            f"| {words.number(part['errors'])} |"
        )
    recorded = result["recorded"]
    if recorded:
        lines += ["", "| | recorded pass | recorded fail |", "| --- | ---: | ---: |"]
        lines.append(f"| case passed | {recorded['pass_match']} | {recorded['fail_match']} |")
        lines.append(f"| case failed | {recorded['pass_nomatch']} | {recorded['fail_nomatch']} |")
    return "\n".join(lines) + "\n"


def _junit(result: dict[str, Any]) -> str:
    """What was not observed is an error, as everything is that cannot be judged."""
    suites = []
    for kind in ("single_turn", "multi_turn"):
        cases = [
            junit.Case(
                case["name"] if turn["turn"] is None else f"{case['name']} turn {turn['turn']}",
                "no_data" if turn["result"] == "not_observed" else turn["result"],
                f"{LABELS[turn['result']].lower()}: {turn['reason']}",
            )
            for case in result["cases"]
            if case["kind"] == kind
            for turn in case["turns"]
            if turn["expects"]
        ]
        suites.append((kind.replace("_", "-"), cases))
    return junit.suites("otelcov test", suites)
