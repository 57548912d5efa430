"""Errors de-duplicated by root cause, with severity, stable ids and a life of their own between windows."""

from __future__ import annotations

import pytest

from otelcov.judge.causes import template
from tests.judge.ask import judge
from tests.judge.server import fine, says, serving
from tests.judge.traffic import SECOND, START, Said, Tool, store

LIES = {1: "It said rain.", 4: "It invented 72 degrees.", 6: "Nothing of the kind was returned."}
DAY = 86_400 * SECOND


def _eight(tmp_path, start=START):
    return store(tmp_path, [Said(f"question {k}", f"answer {k}") for k in range(8)], start)


def _lying(request):
    if request.metric == "agent_behavior_failure":
        k = int(request.data["user_message"].split()[1])
        if k in LIES:
            return says(reason=LIES[k], label="false information")
    return fine(request)


def test_three_false_information_findings_are_one_error_with_three_examples(tmp_path):
    with serving(_lying) as server:
        code, document = judge(_eight(tmp_path), url=server.url)
    (error,) = document["errors"]
    assert (error["label"], error["severity"], error["occurrences"]) == ("false information", "high", 3)
    assert [(x["turn"], x["reason"]) for x in error["examples"]] == list(LIES.items())
    assert code == 0  # high is below the default, critical


@pytest.mark.parametrize(("level", "code"), [("critical", 0), ("high", 1), ("medium", 1), ("low", 1)])
def test_a_severity_gate_fails_at_its_level_and_above(tmp_path, level, code):
    with serving(_lying) as server:
        assert judge(_eight(tmp_path), "--fail-on-error-severity", level, url=server.url)[0] == code


def test_errors_of_different_tools_and_classes_are_different(tmp_path):
    def turn(k, tool, error):
        return Said(f"question {k}", f"It did not work for {k}, sorry.", [Tool(tool, {"k": k}, None, error)])

    turns = [turn(0, "a", "ValueError"), turn(1, "a", "ValueError"), turn(2, "a", "KeyError"), turn(3, "b", "KeyError")]
    _, document = judge(store(tmp_path, turns))
    found = [(e["tool"], e["error_class"], e["occurrences"]) for e in document["errors"]]
    assert found[0] == ("a", "ValueError", 2)  # the most frequent of equal severity first
    assert sorted(found[1:]) == [("a", "KeyError", 1), ("b", "KeyError", 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Order #W4776164 not found", "Order #<id> not found"),
        ("timeout after 30.5 s", "timeout after <n> s"),
        ("no user 'anna'", "no user <text>"),
        ("Traceback (most recent call last):\n  File x\nKeyError: 'city'", "KeyError: <text>"),
        ("cannot open /var/lib/a/b.db", "cannot open <path>"),
        ("mail to anna@example.com bounced", "mail to <address> bounced"),
        ("", None),
        (None, None),
    ],
)
def test_a_template_keeps_what_does_not_change(text, expected):
    assert template(text) == expected


def test_ids_are_the_same_in_every_window_and_states_follow(tmp_path):
    def call(error):
        return [Tool("a", {"k": 1}, None, error)]

    place = store(tmp_path, [Said("q", "It did not work, sorry.", call("ValueError"), conversation="x")])
    second = [
        Said("q", "It did not work, sorry.", call("ValueError"), conversation="y"),
        Said("q", "It did not work, sorry.", call("KeyError"), conversation="z"),
    ]
    store(tmp_path, second, START + DAY)
    store(tmp_path, [Said("q", "all is well here", conversation="w")], START + 2 * DAY)

    def day(k):
        at = ("--since", f"2026-01-0{k}", "--until", f"2026-01-0{k + 1}")
        return judge(place, *at)[1]

    first, middle, last = day(1), day(2), day(3)
    (one,) = first["errors"]
    assert one["state"] is None  # nothing to compare with
    states = {e["error_class"]: (e["state"], e["first_seen"]) for e in middle["errors"]}
    assert states["ValueError"] == ("ongoing", one["first_seen"])
    assert states["KeyError"][0] == "new"
    assert one["id"] in {e["id"] for e in middle["errors"]}
    assert {e["id"] for e in last["gone"]} == {e["id"] for e in middle["errors"]}
    assert day(2)["errors"] == middle["errors"]  # judged again: the same


@pytest.mark.full
def test_what_nobody_looked_for_is_not_gone(tmp_path):
    place = _eight(tmp_path)
    store(tmp_path, [Said("question 0", "answer", conversation="later")], START + DAY)
    with serving(_lying) as server:
        judge(place, "--until", "2026-01-02", url=server.url)
    _, document = judge(place, "--since", "2026-01-02", "--until", "2026-01-03")  # rules alone
    assert document["gone"] == []


def _grouping(**groups):
    def script(request):
        if request.metric == "error_deduplication":
            return says(
                groups=[{"title": t, "description": "d", "severity": s, "entries": n} for t, (s, n) in groups.items()]
            )
        if request.metric == "agent_behavior_failure":
            k = int(request.data["user_message"].split()[1])
            return says(reason="r", label=["no failure", "repetition", "false information"][k % 3])
        return fine(request)

    return script


def test_the_judge_groups_errors_and_gives_them_a_severity(tmp_path):
    with serving(_grouping(one=("critical", [1, 2]))) as server:
        code, document = judge(_eight(tmp_path), "--group", url=server.url)
    (group,) = document["groups"]
    assert group["title"] == "one"
    assert group["occurrences"] == sum(e["occurrences"] for e in document["errors"]) == 5
    assert group["errors"] == sorted(e["id"] for e in document["errors"])
    assert code == 1


@pytest.mark.full
@pytest.mark.parametrize("entries", [[1], [1, 2, 3], [1, 1, 2]], ids=["one lost", "one invented", "one twice"])
def test_a_grouping_that_loses_or_invents_is_refused(tmp_path, entries):
    with serving(_grouping(bad=("critical", entries))) as server:
        code, document = judge(_eight(tmp_path), "--group", url=server.url)
    assert document["groups"] == []
    assert "no usable grouping" in document["grouping"]
    assert sorted(e["occurrences"] for e in document["errors"]) == [2, 3]
    assert code == 0  # severities are those of the labels


def test_a_judge_cannot_play_down_what_a_rule_proved(tmp_path):
    toml = '[agents.planner]\nrestricted = ["cancel"]\n'
    turns = [Said("question 1", "I looked at it.", [Tool("cancel", {"k": 1})])]
    with serving(_grouping(fine=("low", [1, 2, 3]))) as server:
        code, document = judge(store(tmp_path, turns), "--group", toml=toml, url=server.url)
    assert document["groups"][0]["severity"] == "critical"
    assert code == 1


def test_a_judge_that_disagrees_with_a_rule_is_shown_and_does_not_overrule(tmp_path):
    twice = [Tool("get_weather", {"city": "Oslo"}, "sunny")] * 2
    with serving() as server:
        _, document = judge(store(tmp_path, [Said("weather?", "sunny", twice)]), url=server.url)
        text = judge(tmp_path / "store", url=server.url, format="text")[1]
    (error,) = document["errors"]
    assert (error["label"], error["sources"], error["disputed"]) == ("repeated tool call", ["repeated_call"], 1)
    assert error["examples"][0]["disputed"] == "no failure: clean"
    row = next(r for r in document["metrics"] if r["metric"] == "tool_call_behavior_failure")
    assert row["value"] == 0.0
    assert "the judge disagrees in 1: no failure: clean" in text


def test_a_judge_that_sees_what_a_rule_proved_does_not_count_it_twice(tmp_path):
    def script(request):
        if request.metric == "tool_call_behavior_failure":
            return says(reason="r", label="repeated tool call", tool="get_weather")
        return fine(request)

    twice = [Tool("get_weather", {"city": "Oslo"}, "sunny")] * 2
    with serving(script) as server:
        _, document = judge(store(tmp_path, [Said("weather?", "sunny", twice)]), url=server.url)
    assert [(e["label"], e["occurrences"]) for e in document["errors"]] == [("repeated tool call", 1)]
