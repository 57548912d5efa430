"""Six ways in which a known tool gets judging wrong, one test each."""

from __future__ import annotations

from otelcov.judge.claims import claims, mismatches
from otelcov.judge.matching import assign
from otelcov.judge.turns import Call
from tests.judge.ask import judge
from tests.judge.server import Reply, fine, says, serving
from tests.judge.traffic import Said, store

TONE = """
from otelcov.judge.custom import metric

@metric("tone")
def tone(turn):
    return 2.5, "curt"
"""


def _store(tmp_path):
    return store(tmp_path, [Said("first question", "first answer"), Said("second question", "second answer")])


def test_goal_completion_runs_by_default(tmp_path):
    with serving() as server:
        _, document = judge(_store(tmp_path), url=server.url)
    row = next(row for row in document["metrics"] if row["metric"] == "goal_completion")
    assert (row["judged"], row["value"]) == (1, 1.0)


def test_a_threshold_on_a_metric_without_scores_does_not_pass(tmp_path):
    place = _store(tmp_path)
    with serving() as server:
        only = ("--metric", "coherence", "--threshold", "helpfulness=1")
        code, document = judge(place, *only, url=server.url)
    assert (code, document["result"]) == (3, "no_data")
    assert document["thresholds"][0]["reason"] == "this metric did not run"
    code, document = judge(place, "--threshold", "helpfulness=1")
    assert (code, document["thresholds"][0]["result"]) == (3, "no_data")


def test_custom_metrics_have_thresholds(tmp_path):
    (tmp_path / "tone.py").write_text(TONE)
    source = ("--custom", str(tmp_path / "tone.py"))
    place = _store(tmp_path)
    assert judge(place, *source, "--threshold", "tone=2.5")[0] == 0
    code, document = judge(place, *source, "--threshold", "tone=4")
    assert (code, document["thresholds"][0]["value"]) == (1, 2.5)


def test_a_rate_limited_judge_creates_no_failure(tmp_path):
    with serving(lambda _: Reply(status=429)) as server:
        code, document = judge(_store(tmp_path), "--threshold", "helpfulness=1", url=server.url)
    assert document["errors"] == []
    assert {row["value"] for row in document["metrics"]} == {None}
    assert document["result"] == "no_data"
    assert code == 3


def test_a_failing_judge_call_does_not_end_the_run(tmp_path):
    def script(request):
        return Reply(body=b"\x00\xff") if request.metric == "coherence" else fine(request)

    with serving(script) as server:
        _, document = judge(_store(tmp_path), url=server.url)
    judged = {row["metric"]: row["judged"] for row in document["metrics"]}
    assert judged.pop("coherence") == 0
    assert judged.pop("tool_call_behavior_failure") == 0  # no turn has a tool call
    assert set(judged.values()) == {1, 2}


def test_sets_are_matched_at_least_cost_not_greedily():
    # taking the cheapest pair first (0 at row 0, column 0) leaves 9 for the rest
    assert assign([[0, 1], [1, 9]]) == [(0, 1), (1, 0)]


def test_claims_are_matched_to_calls_at_least_cost_too():
    def booked(**arguments):
        return Call("book_hotel", "planner", "ok", None, None, arguments, None, "ok", 0)

    told = list(claims("I've booked a hotel for 2 nights in Oslo. I've booked another for 3 nights and 4 guests."))
    calls = [booked(nights=3, guests=4), booked(nights=2, guests=1)]
    assert len(told) == 2
    assert mismatches(told, calls) == []
    assert [m.said for m in mismatches(told, [booked(nights=3, guests=4), booked(nights=5, guests=1)])] == ["2"]


def test_a_judge_that_labels_a_turn_a_failure_is_not_lost_beside_one_that_fails(tmp_path):
    def script(request):
        if request.metric == "agent_behavior_failure":
            return says(reason="r", label="unsafe state")
        return Reply(status=500)

    with serving(script) as server:
        code, document = judge(_store(tmp_path), url=server.url)
    assert [e["label"] for e in document["errors"]] == ["unsafe state"]
    assert code == 1  # critical
