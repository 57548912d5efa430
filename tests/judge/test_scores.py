"""Scores, labels, averages and goal completion, against a scripted server: real client, real HTTP."""

from __future__ import annotations

import pytest

from otelcov.judge.metrics import BUILT_IN
from tests.judge.ask import judge
from tests.judge.server import fine, says, serving
from tests.judge.traffic import Said, Tool, store

SEED = [4.2, 3.1, 4.5, 3.8, 4.0, 3.2]  # the seed's helpfulness scores, of three conversations


def _six(tmp_path):
    return store(tmp_path, [Said(f"question {k}", f"answer {k}", conversation=f"c{k // 2}") for k in range(6)])


def _row(document, metric):
    return next(row for row in document["metrics"] if row["metric"] == metric)


def _seed(request):
    if request.metric == "helpfulness":
        return says(reason="r", score=SEED[int(request.data["user_message"].split()[1])])
    return fine(request)


def test_the_seed_scores_average_3_8_over_all_turns_of_all_conversations_and_pass_3_5(tmp_path):
    with serving(_seed) as server:
        code, document = judge(_six(tmp_path), "--threshold", "helpfulness=3.5", url=server.url)
    assert _row(document, "helpfulness")["value"] == 3.8
    assert _row(document, "helpfulness")["judged"] == 6
    assert [t["result"] for t in document["thresholds"]] == ["pass"]
    assert (code, document["result"]) == (0, "pass")


def test_an_average_of_exactly_the_threshold_passes_and_one_below_it_fails(tmp_path):
    place = _six(tmp_path)
    with serving(_seed) as server:
        assert judge(place, "--threshold", "helpfulness=3.8", url=server.url)[0] == 0
        code, document = judge(place, "--threshold", "helpfulness=3.81", url=server.url)
    assert (code, document["thresholds"][0]["result"]) == (1, "fail")


def test_goal_completion_is_asked_once_per_conversation_with_all_its_turns(tmp_path):
    def script(request):
        if request.metric == "goal_completion":
            return says(reason="r", score=0 if request.data["turns"][0]["user_message"] == "question 2" else 1)
        return fine(request)

    with serving(script) as server:
        code, document = judge(_six(tmp_path), "--threshold", "goal_completion=0.8", url=server.url)
    asked = [r for r in server.requests if r.metric == "goal_completion"]
    assert sorted([t["user_message"] for t in r.data["turns"]] for r in asked) == [
        ["question 0", "question 1"],
        ["question 2", "question 3"],
        ["question 4", "question 5"],
    ]
    assert _row(document, "goal_completion")["value"] == pytest.approx(2 / 3)
    assert code == 1


def test_labels_are_counted_and_the_value_is_the_share_without_failure(tmp_path):
    def script(request):
        if request.metric == "agent_behavior_failure" and request.data["user_message"] in ("question 1", "question 4"):
            return says(reason="r", label="Repetition")  # another spelling of the label
        return fine(request)

    with serving(script) as server:
        _, document = judge(_six(tmp_path), url=server.url)
    row = _row(document, "agent_behavior_failure")
    assert row["labels"] == {"no failure": 4, "repetition": 2}
    assert row["value"] == pytest.approx(4 / 6)


def test_tool_call_behavior_is_asked_only_about_turns_with_tool_calls(tmp_path):
    turns = [Said("hi", "hello to you"), Said("weather?", "sunny", [Tool("get_weather", {"city": "Oslo"}, "sunny")])]
    with serving() as server:
        _, document = judge(store(tmp_path, turns), url=server.url)
    asked = [r for r in server.requests if r.metric == "tool_call_behavior_failure"]
    assert [r.data["user_message"] for r in asked] == ["weather?"]
    assert _row(document, "tool_call_behavior_failure")["applicable"] == 1


def test_a_metric_sees_goal_knowledge_instructions_history_and_tool_calls(tmp_path):
    weather = Tool("get_weather", {"city": "Oslo"}, {"temperature": 58})
    turns = [
        Said("hi", "hello to you", system="You sell flights."),
        Said("weather?", "sunny", [weather], system="You sell flights."),
    ]
    toml = '[judge]\nknowledge = ["The store closes at 6pm"]\n[judge.goals]\nc1 = "Know the weather"\n'
    with serving() as server:
        judge(store(tmp_path, turns), "--metric", "faithfulness", toml=toml, url=server.url)
    data = next(r.data for r in server.requests if r.data["user_message"] == "weather?")
    assert data.pop("earlier_tool_calls") == []
    assert data == {
        "goal": "Know the weather",
        "knowledge": ["The store closes at 6pm"],
        "agent_instructions": "You sell flights.",
        "offered_tools": None,
        "history": [{"user_message": "hi", "agent_message": "hello to you"}],
        "turn_index": 1,
        "user_message": "weather?",
        "tool_calls": [
            {
                "tool": "get_weather",
                "agent": "planner",
                "status": "ok",
                "arguments": {"city": "Oslo"},
                "result": {"temperature": 58},
            }
        ],
        "agent_message": "sunny",
    }


def test_what_earlier_turns_found_out_is_shown(tmp_path):
    found = Tool("get_weather", {"city": "Oslo"}, "sunny")
    with serving() as server:
        place = store(tmp_path, [Said("weather?", "let me look", [found]), Said("and?", "it is sunny")])
        judge(place, "--metric", "faithfulness", url=server.url)
    data = next(r.data for r in server.requests if r.data["user_message"] == "and?")
    assert [(c["tool"], c["result"]) for c in data["earlier_tool_calls"]] == [("get_weather", "sunny")]


def test_all_eight_metrics_run_by_default_and_a_subset_by_name(tmp_path):
    place = store(tmp_path, [Said("weather?", "sunny", [Tool("get_weather", {"city": "Oslo"}, "sunny")])])
    with serving() as server:
        judge(place, url=server.url)
        assert sorted(r.metric for r in server.requests) == sorted(BUILT_IN)
        assert len(BUILT_IN) == 8
        server.requests.clear()
        _, document = judge(place, "--metric", "coherence", "--metric", "verbosity", url=server.url)
    assert [row["metric"] for row in document["metrics"]] == ["coherence", "verbosity"]


def test_no_more_questions_are_under_way_than_the_concurrency_allows(tmp_path):
    with serving(_slow) as server:
        judge(_six(tmp_path), toml="[judge]\nconcurrency = 3\n", url=server.url)
    assert server.busiest == 3


def _slow(request):
    reply = fine(request)
    reply.wait_s = 0.02
    return reply


def test_repeats_are_averaged_and_their_agreement_is_told(tmp_path):
    def script(request):
        if request.metric == "helpfulness":
            return says(reason="r", score=[4, 5][request.number % 2])
        return fine(request)

    with serving(script) as server:
        _, document = judge(
            _six(tmp_path), "--metric", "helpfulness", "--metric", "coherence", "--repeats", "2", url=server.url
        )
    helpful, coherent = document["metrics"]
    assert helpful["value"] == 4.5
    assert helpful["agreement"] == {"units": 6, "repeats": 2, "equal": 0.0, "alpha": pytest.approx(-5 / 6, abs=1e-6)}
    assert coherent["agreement"] == {"units": 6, "repeats": 2, "equal": 1.0, "alpha": None}


def test_a_tie_between_labels_is_missing_data(tmp_path):
    def script(request):
        return says(reason="r", label=["no failure", "repetition"][request.number % 2])

    place = store(tmp_path, [Said("question", "answer")])
    with serving(script) as server:
        _, document = judge(place, "--metric", "agent_behavior_failure", "--repeats", "2", url=server.url)
    assert document["metrics"][0]["missing"] == {"repeats_disagree": 1}
    assert document["errors"] == []


def test_a_sample_judges_that_many_conversations_of_every_path(tmp_path):
    turns = [Said(f"q{k}", "fine, thank you", conversation=f"plain{k}") for k in range(6)]
    turns += [
        Said(f"w{k}", "it is sunny", [Tool("get_weather", {"city": str(k)}, "sunny")], conversation=f"tool{k}")
        for k in range(6)
    ]
    place = store(tmp_path, turns)
    with serving() as server:
        _, document = judge(place, "--metric", "helpfulness", "--sample", "4", url=server.url)
        first = sorted(r.data["user_message"] for r in server.requests)
        judge(place, "--metric", "helpfulness", "--sample", "4", url=server.url)
    assert document["sampled"] == {"conversations": 4, "turns": 4}
    assert [name[0] for name in first] == ["q", "q", "w", "w"]
    assert len(server.requests) == 4  # the same sample again: nothing to pay
