"""Missing is missing: what a judge does not say is no score, no failure and no pass."""

from __future__ import annotations

import pytest

from tests.judge.ask import judge
from tests.judge.server import Reply, fine, says, serving
from tests.judge.traffic import Said, store

ONE = ("--metric", "helpfulness")
BOTH = ("--metric", "helpfulness", "--metric", "agent_behavior_failure")


def _two(tmp_path):
    return store(tmp_path, [Said("first question", "first answer"), Said("second question", "second answer")])


def _second(reply):
    """A script that fails on the second turn."""
    return lambda request: reply if request.data["user_message"] == "second question" else fine(request)


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (Reply(status=429), "rate_limited"),
        (Reply(status=500), "server_error"),
        (Reply(status=503), "server_error"),
        (Reply(status=400), "rejected"),
        (Reply(status=413), "rejected"),
        (Reply(status=408), "server_error"),
        (
            Reply(body=b'{"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": []}'),
            "malformed",
        ),
        (Reply("I would rather talk about something else."), "malformed"),
        (Reply(""), "malformed"),
        (Reply(body=b"<html>gateway</html>"), "malformed"),
        (Reply(body=b"{}"), "malformed"),
        (says(reason="r"), "malformed"),
        (says(reason="r", score=6), "malformed"),
        (says(reason="r", score=0), "malformed"),
        (says(reason="r", score=True), "malformed"),
        (says(reason="r", score=None), "malformed"),
        (Reply('{"reason": "r", "score": NaN}'), "malformed"),
        (Reply(None, refusal="I cannot help with that."), "refused"),
        (Reply(wait_s=2.5), "timeout"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_it_is_counted_and_left_out(tmp_path, reply, word):
    toml = f'[judge]\ntimeout = "{"1s" if reply.wait_s else "1m"}"\nattempts = 2\n'
    with serving(_second(reply)) as server:
        code, document = judge(_two(tmp_path), *ONE, toml=toml, url=server.url)
    (row,) = document["metrics"]
    assert row["missing"] == {word: 1}
    assert (row["value"], row["judged"]) == (4.0, 1)
    assert document["errors"] == []
    assert code == 0


def test_an_unknown_label_is_no_failure_and_no_pass(tmp_path):
    def script(request):
        return says(reason="r", label="catastrophe" if request.metric == "agent_behavior_failure" else "x", score=4)

    with serving(script) as server:
        code, document = judge(_two(tmp_path), *BOTH, url=server.url)
    row = document["metrics"][1]
    assert (row["value"], row["labels"], row["missing"]) == (None, {}, {"malformed": 2})
    assert document["errors"] == []
    # nobody looked for failures, so nobody can say that there are none
    assert document["severity_gate"]["result"] == "no_data"
    assert code == 3


def test_a_label_that_comes_at_the_second_try_counts(tmp_path):
    def second_try(request):
        again = any(m["role"] == "assistant" for m in request.body["messages"])
        return fine(request) if again else Reply("no JSON")

    with serving(second_try) as server:
        _, document = judge(_two(tmp_path), *ONE, url=server.url)
    assert document["metrics"][0]["judged"] == 2
    assert document["calls"]["requests"] == 4


def test_a_limit_that_passes_is_waited_for(tmp_path):
    def script(request):
        return Reply(status=429, headers={"retry-after": "0"}) if request.number < 2 else fine(request)

    with serving(script) as server:
        _, document = judge(_two(tmp_path), *ONE, url=server.url)
    assert document["metrics"][0]["judged"] == 2
    assert len(server.requests) == 6


def test_a_wrong_key_stops_the_asking_and_not_the_report(tmp_path):
    place = store(tmp_path, [Said(f"question {k}", "answer") for k in range(30)])
    with serving(lambda _: Reply(status=401)) as server:
        code, document = judge(
            place, *ONE, "--threshold", "helpfulness=3", toml="[judge]\nconcurrency = 2\n", url=server.url
        )
    assert len(server.requests) <= 2
    assert document["metrics"][0]["missing"] == {"unauthorized": 30}
    assert document["not_asked"] == "unauthorized"
    assert code == 3


def test_a_server_that_is_not_there_is_not_asked_thirty_times(tmp_path):
    place = store(tmp_path, [Said(f"question {k}", "answer") for k in range(30)])
    code, document = judge(place, *ONE, url="http://127.0.0.1:9/v1")
    assert document["metrics"][0]["missing"] == {"connection": 30}
    assert code == 0  # nothing was demanded of it


def test_too_few_turns_are_not_enough_data(tmp_path):
    with serving() as server:
        code, document = judge(
            _two(tmp_path), *ONE, "--threshold", "helpfulness=3", toml="[judge]\nmin_turns = 3\n", url=server.url
        )
    assert document["thresholds"][0]["reason"] == "2 judged, fewer than 3"
    assert code == 3


def test_too_small_a_share_is_not_enough_data(tmp_path):
    place = store(tmp_path, [Said(f"question {k}", "answer") for k in range(5)])

    def script(request):
        return fine(request) if request.data["user_message"] == "question 0" else Reply("no")

    with serving(script) as server:
        code, document = judge(place, *ONE, "--threshold", "helpfulness=3", url=server.url)
    assert document["thresholds"][0]["reason"] == "1 of 5 judged, less than 50%"
    assert code == 3


def test_a_turn_without_a_recorded_answer_is_not_asked_about(tmp_path):
    place = store(tmp_path, [Said("question", None)])
    with serving() as server:
        _, document = judge(place, *ONE, url=server.url)
    assert server.requests == []
    assert document["metrics"][0]["missing"] == {"not_recorded": 1}


def test_the_budget_of_calls_is_never_overspent(tmp_path):
    place = store(tmp_path, [Said(f"question {k}", "answer") for k in range(10)])
    with serving(lambda _: Reply("never JSON")) as server:
        _, document = judge(place, *ONE, "--max-calls", "5", url=server.url)
    assert len(server.requests) <= 5
    assert document["calls"]["requests"] == len(server.requests)
    missing = document["metrics"][0]["missing"]
    assert missing["budget"] >= 5
    assert sum(missing.values()) == 10


def test_the_budget_of_tokens_ends_the_asking(tmp_path):
    place = store(tmp_path, [Said(f"question {k}", "answer") for k in range(10)])
    with serving() as server:
        _, document = judge(place, *ONE, "--max-tokens", "2000", url=server.url)
    assert 0 < document["metrics"][0]["judged"] < 10
    assert document["calls"]["input_tokens"] + document["calls"]["output_tokens"] <= 2000


def test_a_budget_of_nothing_asks_nothing(tmp_path):
    with serving() as server:
        _, document = judge(_two(tmp_path), *ONE, "--max-calls", "0", url=server.url)
    assert server.requests == []
    assert document["metrics"][0]["missing"] == {"budget": 2}
