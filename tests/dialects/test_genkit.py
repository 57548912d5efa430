"""What Genkit's agents and flows put out, catch, and wait for (JavaScript, 1.42; Python, 0.12)."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

pytestmark = pytest.mark.full


def _genkit(id, parent, kind, name, at, took=1, error=None, **told):
    told = {"type": "action", "metadata:subtype": kind, "name": name, "state": "error" if error else "success"} | told
    told = {key: value for key, value in told.items() if value is not None}
    told = {f"genkit:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in told.items()}
    made = span(id, parent, name, at=at, took=took, scope="genkit-tracer", attributes=told)
    return made | ({"error": error} if error else {})


def _text(role, text):
    return {"role": role, "content": [{"text": text}]}


def _model(id, parent, at, text=None, calls=(), error=None):
    asked = [{"toolRequest": {"name": name, "ref": ref, "input": {}}} for name, ref in calls]
    said = {"role": "model", "content": [{"text": text}] if text else asked}
    came = {"output": {"message": said, "finishReason": "stop", "usage": {"inputTokens": 1, "outputTokens": 1}}}
    given = {"messages": [_text("user", "go")], "tools": [{"name": "look"}]}
    return _genkit(id, parent, "model", "openai/m", at, error=error, input=given, **({} if error else came))


def _agent(id, parent, name, at, took, came):
    told = {"input": {"message": _text("user", "go")}, "metadata:agent:sessionId": f"s{id}"}
    return _genkit(id, parent, "agent", name, at, took, output={"sessionId": f"s{id}"} | came, **told)


_SAID = {"message": _text("model", "led"), "finishReason": "stop"}
_FAILED = {"finishReason": "failed", "error": {"status": "INTERNAL", "message": "500 boom"}}


def test_an_agent_that_failed_puts_out_that():
    (run,) = agreed(
        _agent(1, None, "helper", 0, 9, _FAILED),
        _genkit(2, 1, "tool", "pay", 1, error="interrupted", input={}),
    )
    assert (run["status"], run["conversation_id"]) == ("error", "s1")
    assert "error" in run["boundaries"]


_WAITS = {"finishReason": "interrupted"}


@pytest.mark.parametrize(("came", "status"), [(_SAID, "ok"), (_FAILED, "error"), (_WAITS, "unknown")])
def test_a_delegation_went_as_who_was_called_says(came, status):
    (run,) = agreed(
        _agent(1, None, "boss", 0, 20, _SAID),
        _model(2, 1, 1, calls=[("delegate_to_helper", "c1")]),
        _genkit(3, 1, "tool", "delegate_to_helper", 3, 9, input={"task": "go"}, output={"response": "so so"}),
        _agent(4, 3, "helper", 4, 7, came),
        _model(5, 4, 5, "cold"),
        _model(6, 1, 15, "led"),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("helper", status)]
    assert run["conversation_id"] == "s1"


@pytest.mark.parametrize("thrown", [None, "flow broke"])
def test_what_a_model_said_is_no_answer_of_a_flow_that_threw(thrown):
    (run,) = agreed(
        _genkit(1, None, "flow", "trip", 0, 9, error=thrown, input="go", **({} if thrown else {"output": "cold!"})),
        _genkit(3, 1, "util", "generate", 1, 2, output=_SAID),
        _model(2, 3, 1, "cold"),
    )
    assert (run["status"], run["output"]) == (("error", None) if thrown else ("ok", "cold!"))


@pytest.mark.parametrize("agent", [True, False])
def test_what_a_flow_caught_did_not_end_it(agent):
    (run,) = agreed(
        _genkit(1, None, "flow", "trip", 0, 9, input="go", output="caught it"),
        *([_agent(2, 1, "helper", 1, 6, _FAILED)] if agent else []),
        _model(3, 2 if agent else 1, 2, error="500 boom"),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("ok", "caught it", ["error"])


def test_a_tool_that_gives_parts_is_a_tool():
    (run,) = agreed(
        _model(2, 1, 1, calls=[("look", "c1")]),
        _genkit(3, 1, "tool.v2", "look", 3, input={"at": "x"}, output={"output": "cold", "content": []}),
        _genkit(1, None, "flow", "trip", 0, 9, input="go", output="done"),
    )
    assert [(c["name"], c["status"], c["evidence"]) for c in run["tool_calls"]] == [("look", "ok", ["span", "message"])]


def _answer(at, took, **told):
    """What frames an answer in Python, where nothing is raised."""
    asked = {"messages": [_text("user", "go")], "tools": ["look"]}
    told = {"type": "util", "metadata:subtype": None, "input": asked} | told
    return _genkit(1, None, None, "generate", at, took, **told)


def _did_not(status, text):
    return {
        "error": {"status": status, "message": text},
        "finishReason": "failed",
        "request": {"messages": [_text("user", "go")]},
    }


@pytest.mark.parametrize(
    ("word", "text", "met"),
    [
        ("INTERNAL", "internal error", ["error"]),
        ("ABORTED", "Exceeded maximum tool call iterations (2)", ["max_steps"]),
    ],
)
def test_an_answer_that_is_an_error_is_none(word, text, met):
    (run,) = agreed(
        _answer(0, 9, state="error", output=_did_not(word, text)),
        _model(2, 1, 1, calls=[("look", "c1")]),
        _genkit(3, 1, "tool.v2", "look", 3, input={}, output={"output": "cold"}),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, met)
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("ok", "cold")]


def test_a_tool_that_interrupts_waits_though_its_span_ends_well():
    (run,) = agreed(
        _answer(0, 9, output={"finishReason": "interrupted"}),
        _model(2, 1, 1, calls=[("nod", "c1")]),
        _genkit(3, 1, "tool.v2", "nod", 3, input={}, **{"metadata:interrupt": {"why": "ok?"}}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("nod", "requested")]


def test_what_does_not_say_how_it_ended_was_cancelled():
    (run,) = agreed(
        _answer(0, 9, state=None),
        _model(2, 1, 1, calls=[("look", "c1")]),
        _genkit(3, 1, "tool.v2", "look", 3, input={}, state=None),
    )
    assert run["status"] == "unknown"
    assert [c["status"] for c in run["tool_calls"]] == ["unknown"]


def _failing(cut):
    told = json.dumps(
        {"sessionId": "92abbc8c", "finishReason": "failed", "error": {"status": "INTERNAL", "message": "down"}}
    )
    told = told.replace('": ', '":').replace(', "', ',"')[:cut]
    turn = _genkit(2, 1, None, "runTurn-1", 1, 7, error="down", type="flowStep")
    return [
        _genkit(1, None, "agent", "helper", 0, 9, output=told, input={"message": _text("user", "go")}),
        turn,
        _model(3, 2, 2, calls=[("look", "c1")]),
        _genkit(4, 2, "tool", "look", 4, error="down", input={}),
    ]


@pytest.mark.parametrize("cut", [20, 28, 38, 40, 45, 50, 85])
def test_an_agent_that_failed_failed_also_where_what_it_put_out_is_cut(cut):
    (run,) = agreed(*_failing(cut))
    assert (run["status"], run["output"]) == ("error", None)


def test_what_a_prompt_puts_out_is_what_a_model_is_to_be_asked():
    given = {"model": "openai/m", "messages": [_text("system", "You lead."), _text("user", "go")]}
    (run,) = agreed(
        _genkit(1, None, "agent", "helper", 0, 9, output={"sessionId": "s1"} | _FAILED),
        _genkit(2, 1, None, "runTurn-1", 1, 7, error="500 boom", type="flowStep"),
        _genkit(3, 2, None, "render", 1, type="promptTemplate", input={}, output=given),
        _genkit(4, 2, None, "generate", 2, error="500 boom", type="util", input=given),
    )
    assert (run["status"], run["output"]) == ("error", None)


@pytest.mark.parametrize(("left", "tokens"), [(0, 134), (1, 134), (3, None), (4, None)])
def test_a_number_at_which_a_text_is_cut_is_not_known(left, tokens):
    told = '{"usage":{"outputTokens":3,"inputTokens":134}}'
    (run,) = agreed(_genkit(1, None, "model", "openai/m", 0, output=told[: len(told) - left]))
    assert run["llm_calls"][0]["input_tokens"] == tokens


@pytest.mark.parametrize(
    ("why", "name", "status"),
    [
        ("stock service down", "look", "unknown"),
        ("Tool nobodys not found", "nobodys", "requested"),
        ("Exceeded maximum tool call iterations (3)", "look", "requested"),
    ],
)
def test_what_was_asked_for_may_have_failed_where_nothing_that_came_did_with_the_run(why, name, status):
    (run,) = agreed(
        _genkit(1, None, "flow", "plan", 0, 9, error=why),
        _genkit(2, 1, None, "generate", 1, 7, error=why, type="util"),
        _model(3, 2, 2, calls=[("look", "c1")]),
        _genkit(4, 2, "tool", "look", 4, 0.5, input={}, output="cold"),
        _genkit(5, 2, None, "generate", 6, 1.1, error=why, type="util"),
        _model(6, 5, 6, calls=[(name, "c2")]),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok"), (name, status)]
