"""What a gateway of models tells in traces of its own (LiteLLM's proxy): who asked it tells of the same calls."""

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct, run_json
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.runs.requests import agent, chat, request, span, tool

CALL = "call_Ab3dE5fG7hI9jK1lM"
UNCOUNTED = {"gen_ai.usage.input_tokens": "", "gen_ai.usage.output_tokens": ""}
DOWN = "Error code: 500"


def _runs(app, gateway):
    """The runs of what the application and the gateway, each a service, have sent."""
    bodies = [request(app), request(gateway, service="gateway", scope="litellm")]
    frame = reconstruct(*from_requests(bodies, [], 1), Config(), LATER)
    return [run_json(row, {}) for row in frame.iter_rows(named=True)]


def _door(trace, at, error=None, took=0.9):
    return span(1, None, "Received Proxy Server Request", trace=trace, at=at, took=took, error=error, kind=2)


def _through(trace, at, answer=None, asked="go", error=None, took=0.7, **told):
    """A call as the gateway tells it."""
    more = {"attributes": UNCOUNTED | told if error else told}
    model = chat(2, 1, answer, asked=asked, trace=trace, at=at + 0.1, took=took, error=error, **more)
    return [_door(trace, at, error, took + 0.2), model]


def _host(answer="done", at=1, took=1.0, **more):
    """An agent that asks a model once, as its own instrumentation tells it."""
    return [
        agent(1, "helper", at=0, took=9),
        chat(2, 1, answer, asked=more.pop("asked", "go"), at=at, took=took, **more),
    ]


def _one(app, gateway):
    (run,) = _runs(app, gateway)
    return run


def test_what_was_asked_through_a_gateway_is_one_run_by_words_and_tokens():
    run = _one(_host(), _through(9, 1.02, "done"))
    assert (run["service"], run["status"], run["output"], len(run["trace_ids"])) == ("app", "ok", "done", 2)
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("helper", "ok")]


def test_a_stream_of_which_one_side_tells_neither_tokens_nor_ids_is_one_call():
    asked = [(CALL, "look", {})]
    app = [*_host(asked, attributes=UNCOUNTED), tool(3, 1, "look", CALL, "3", at=3), chat(4, 1, "done", "go", at=5)]
    run = _one(app, _through(9, 1.02, [("", "look", {})]))
    assert [(c["agent"], c["input_tokens"]) for c in run["llm_calls"]] == [("helper", 10)] * 2
    assert [(c["name"], c["call_id"]) for c in run["tool_calls"]] == [("look", CALL)]


def test_the_attempts_of_a_client_that_fail_inside_a_call_are_no_runs_and_no_failure_of_it():
    tried = [*_through(8, 1.02, error=DOWN, took=0.1), *_through(9, 1.5, "done", took=0.2)]
    run = _one(_host(), tried)
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("helper", "ok")]
    assert (run["status"], run["boundaries"]) == ("ok", [])


@pytest.mark.parametrize("asked", ["go", None])
def test_a_call_of_which_every_attempt_failed_is_one_call_that_failed(asked):
    app = _host(None, error=DOWN, attributes=UNCOUNTED, asked=asked)
    run = _one(app, [s for trace in (7, 8, 9) for s in _through(trace, 1.02 + (trace - 7) * 0.3, error=DOWN, took=0.1)])
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("helper", "error")]


def test_the_calls_of_a_client_without_an_agent_above_are_one_run_with_what_the_gateway_tells():
    asked = [(CALL, "look", {"a": 1})]
    told = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": CALL, "name": "look", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": CALL, "response": 3}]},
    ]
    app = [chat(1, None, asked, "go", trace=1, at=1), chat(1, None, "done", told, trace=2, at=3)]
    run = _one(app, [*_through(8, 1.02, asked), *_through(9, 3.02, "done", told)])
    assert (run["status"], len(run["llm_calls"]), len(run["trace_ids"])) == ("ok", 2, 4)
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "ok", 3)]


@pytest.mark.parametrize(
    ("asked", "at"),
    [
        ("stay", 1.02),  # other words
        ("go", 4.0),  # another time
    ],
)
def test_what_somebody_else_asked_the_gateway_is_another_run(asked, at):
    assert len(_runs(_host(), _through(9, at, "done", asked))) == 2


def test_of_an_attempt_of_which_no_words_are_told_nobody_says_whose_it_was():
    found = _runs(_host(), _through(9, 1.02, asked=None, error=DOWN, took=0.1))
    assert [r["status"] for r in found] == ["ok", "error"]


def test_what_a_gateway_tried_before_it_asked_another_model_is_one_call():
    first = chat(2, 1, asked="go", trace=9, at=1.1, took=0.2, error=DOWN, attributes=UNCOUNTED)
    (run,) = _runs([], [_door(9, 1), first, chat(3, 1, "done", "go", trace=9, at=1.4, took=0.3)])
    assert [c["status"] for c in run["llm_calls"]] == ["ok"]
    assert (run["status"], run["output"]) == ("ok", "done")


def test_an_answer_that_came_after_its_client_had_given_up_is_no_run():
    app = _host(None, took=0.3, error="Request timed out.", attributes=UNCOUNTED)
    run = _one(app, _through(9, 1.02, "done"))
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("helper", "error")]
    assert run["output"] is None


def test_attempts_in_the_trace_of_a_call_that_failed_are_one_call():
    call = chat(2, 1, asked="go", at=1, took=3, error=DOWN, attributes=UNCOUNTED)
    more = {"asked": "go", "took": 0.5, "error": DOWN, "attributes": UNCOUNTED}
    tried = [chat(id, 2, at=1 + id * 0.6 - 1.8, scope="litellm", **more) for id in (3, 4, 5)]
    (run,) = _runs([agent(1, "helper", took=9), call, *tried], [])
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("helper", "error")]


ANSWER = "chatcmpl-4f1e9ac02b7d4c10"


@pytest.mark.parametrize("kind, answer", [(2, {}), (3, {"gen_ai.response.id": ANSWER})])
def test_a_gateway_may_tell_nothing_but_the_call_itself(kind, answer):
    told = chat(1, None, "done", "go", trace=9, at=1.02, took=0.9, attributes=answer) | {"kind": kind}
    run = _one(_host(attributes=answer), [told])
    assert (run["service"], len(run["trace_ids"])) == ("app", 2)
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("helper", "ok")]


@pytest.mark.parametrize("kind", [2, 3])
def test_calls_of_two_services_with_ids_of_their_own_are_two_runs(kind):
    other = {"gen_ai.response.id": ANSWER[::-1]}
    told = chat(1, None, "done", "go", trace=9, at=1.02, took=0.9, attributes=other) | {"kind": kind}
    assert len(_runs(_host(attributes={"gen_ai.response.id": ANSWER}), [told])) == 2


def test_what_a_gateway_tried_below_its_call_is_that_call():
    tried = [chat(2, 1, None, trace=9, at=1.1, took=0.2, error=DOWN), chat(3, 1, None, trace=9, at=1.4, took=0.4)]
    (run,) = _runs([], [chat(1, None, "done", "go", trace=9, at=1.02, took=0.9), *tried])
    assert (run["status"], run["output"], len(run["llm_calls"])) == ("ok", "done", 1)


def test_a_server_of_models_tells_the_id_that_it_answers_with_as_that_of_the_request():
    told = {"gen_ai.request.id": ANSWER, "gen_ai.response.model": "llama", "gen_ai.latency.e2e": 1}
    told |= {"gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": 2}
    served = span(1, None, "llm_request", trace=9, at=1.02, took=0.9, kind=2, scope="vllm.llm_engine", attributes=told)
    run = _one(_host(attributes={"gen_ai.response.id": ANSWER}), [served])
    assert [(c["agent"], c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [
        ("helper", "model-a", "llama")
    ]


def test_a_request_that_a_gateway_names_by_itself_and_that_failed_is_a_call():
    told = {"gen_ai.provider.name": "openai", "gen_ai.request.model": "model-a", "gen_ai.error": DOWN}
    asked = {"gen_ai.input.messages": [{"role": "user", "content": "go"}]}
    (run,) = _runs([], [span(1, None, "gen_ai.chat", kind=2, error="", scope="bifrost", attributes=told | asked)])
    assert (run["status"], run["input"], [c["status"] for c in run["llm_calls"]]) == ("error", "go", ["error"])
    answer = {"gen_ai.chat.id": ANSWER, "gen_ai.chat.model": "model-a-1", "gen_ai.usage.prompt_tokens": 3}
    answer["gen_ai.chat.output_messages"] = [{"role": "assistant"}]  # which leaves out what it asked for
    told = asked | answer | {"gen_ai.request.model": "model-a"}
    (run,) = _runs([], [span(1, None, "gen_ai.chat", kind=2, scope="bifrost", attributes=told)])
    assert (run["status"], run["tool_calls"], run["llm_calls"][0]["response_model"]) == ("unknown", None, "model-a-1")


def _behind(trace=11, at=1.2, took=0.5):
    """The same call, as the server behind the gateway tells it."""
    told = {"gen_ai.response.model": "llama", "gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": 2}
    return span(1, None, "llm_request", trace=trace, at=at, took=took, kind=2, scope="vllm", attributes=told)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("app", [_host(), []])
def test_one_gateway_may_stand_behind_another(app, turned):
    bodies = [request(app), request(_through(9, 1.02, "done"), service="gateway", scope="litellm")]
    bodies.append(request([_behind()], service="server"))
    frame = reconstruct(*from_requests(bodies[::-1] if turned else bodies, [], 1), Config(), LATER)
    (run,) = [run_json(row, {}) for row in frame.iter_rows(named=True)]
    assert (run["service"], run["status"], run["output"]) == ("app" if app else "gateway", "ok", "done")
    assert [(c["agent"], c["response_model"]) for c in run["llm_calls"]] == [("helper" if app else None, "llama")]


def test_a_gateway_tells_each_call_once():
    """Two answers at once, of which one agent knows: the other was somebody else's."""
    told = [*_through(9, 1.02, "done"), *_through(10, 1.03, "done")]
    assert [len(run["llm_calls"]) for run in _runs(_host(), told)] == [1, 1]
