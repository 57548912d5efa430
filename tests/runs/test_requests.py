"""Which traces, and which parts of one, are a run."""

import json

from tests.runs.requests import agent, chat, request, runs, span, tool


def test_one_trace_a_model_call_is_one_run():
    question = {"role": "user", "parts": [{"type": "text", "content": "weather in Oslo?"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "t", "arguments": {"a": 1}}]}
    answer = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}
    (run,) = runs(
        chat(1, None, [("c1", "t", {"a": 1})], asked=[question], trace=1),
        chat(2, None, "It rains.", asked=[question, asked, answer], trace=2, at=2),
    )
    assert len(run["trace_ids"]) == 2
    assert len(run["llm_calls"]) == 2
    assert [(c["name"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("t", "ok", "rain", 0)]
    assert run["output"] == "It rains."


def test_turns_of_a_conversation_are_runs_of_their_own():
    found = runs(
        *(
            s
            for t in (1, 2, 3)
            for s in (
                agent(10 * t, "a", trace=t, at=10 * t, attributes={"gen_ai.conversation.id": "conv"}),
                chat(10 * t + 1, 10 * t, "hi", trace=t, at=10 * t),
            )
        )
    )
    assert [r["conversation_id"] for r in found] == ["conv"] * 3


def test_set_up_alone_is_no_run():
    found = runs(
        span(1, None, "create_agent a", gen_ai__operation__name="create_agent", gen_ai__agent__name="a", trace=1),
        agent(2, "a", trace=2, at=5),
        chat(3, 2, "hi", trace=2, at=5),
    )
    assert len(found) == 1


def test_spans_that_say_nothing_of_agents_are_no_run():
    assert runs(span(1, None, "GET /", http__request__method="GET"), span(2, 1, "SELECT")) == []


def test_several_requests_under_one_app_span_are_several_runs():
    found = runs(
        span(1, None, "batch", took=60),
        *(
            s
            for i in (1, 2)
            for s in (agent(10 * i, "a", parent=1, at=20 * i), chat(10 * i + 1, 10 * i, "hi", at=20 * i))
        ),
    )
    assert len(found) == 2
    assert len({r["run_id"] for r in found}) == 2


def _turns(*histories, root=None, **names):
    """Model calls, each asked one of these histories, below an agent of their own below one span."""
    root = {"openinference__span__kind": "CHAIN", "session__id": "s"} if root is None else root
    found = [span(1, None, "session", took=90, **root)]
    for i, words in enumerate(histories):
        roles = ("user", "assistant")
        asked = [{"role": roles[k % 2], "parts": [{"type": "text", "content": w}]} for k, w in enumerate(words)]
        name = names.get(f"name{i}", "a")
        found += [
            agent(10 * i + 10, name, parent=1, at=20 * i, took=10),
            chat(10 * i + 11, 10 * i + 10, f"answer {i}", asked, at=20 * i + 1),
        ]
    return runs(*found)


def test_turns_of_a_conversation_below_one_span_are_runs_of_their_own():
    found = _turns(["one?"], ["one?", "answer 0", "two?"], ["one?", "answer 0", "two?", "answer 1", "three?"])
    assert [(r["input"], r["output"]) for r in found] == [
        ("one?", "answer 0"),
        ("two?", "answer 1"),
        ("three?", "answer 2"),
    ]
    assert [r["conversation_id"] for r in found] == ["s"] * 3


def test_what_is_no_conversation_below_one_span_is_one_run():
    assert len(_turns(["one?"], ["two?"])) == 1
    assert len(_turns(["one?"], ["one?", "answer 0", "two?"], name1="b")) == 1
    asked = {"openinference__span__kind": "CHAIN", "input__value": "all of it"}
    assert len(_turns(["one?"], ["one?", "answer 0", "two?"], root=asked)) == 1


def test_a_missing_root_is_said():
    (run,) = runs(chat(2, 99, "hi", at=1), tool(3, 99, "t", at=3, result="x"))
    assert "missing parent" in run["incomplete"]


def test_a_called_agents_prompt_is_not_what_the_user_asked():
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "book a flight"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "delegate", "arguments": {}}]},
    ]
    inside = [tool(2, 9, "delegate", "c1", "done", took=3), agent(3, "worker", 2, at=0.1, took=2)]
    inside.append(chat(4, 3, "found it", "look for flights", at=0.2))
    (unknown,) = runs(*inside)  # the asking agent and its model calls never came
    assert (unknown["input"], unknown["output"], unknown["status"]) == (None, None, "unknown")
    (known,) = runs(*inside, chat(5, 9, "booked", history, at=5))
    assert (known["input"], known["output"], known["status"]) == ("book a flight", "booked", "ok")


def test_a_request_of_nothing_is_no_run():
    assert request([]) and runs() == []


def test_graphs_that_a_program_runs_one_after_another_are_runs_of_the_agent_that_their_steps_name():
    scope = "openinference.instrumentation.langchain"

    def graph(id, at):
        step = _CHAIN | {"metadata": json.dumps({"lc_agent_name": "planner", "langgraph_node": "model"})}
        return [
            span(id, 1, "planner", at=at, took=5, attributes=_CHAIN, scope=scope),
            span(id + 1, id, "model", at=at, took=5, attributes=step, scope=scope),
            chat(id + 2, id + 1, f"{id}.", "hi", at=at + 1, scope=scope),
        ]

    found = runs(span(1, None, "batch", took=60), *graph(2, 1), *graph(6, 10))
    assert [r["output"] for r in found] == ["2.", "6."]


def test_crews_that_a_program_sets_to_work_one_after_another_are_runs_though_their_names_bear_ids():
    def crew(id, at):
        name = f"Crew_0000000{id}-304e-4b77-ad8e-4840027407dd.kickoff"
        return [
            span(id, 1, name, at=at, took=5, attributes=_CHAIN, scope="openinference.instrumentation.crewai"),
            agent(id + 1, "planner", id, at=at, took=5),
            chat(id + 2, id + 1, f"{id}.", "hi", at=at + 1),
        ]

    found = runs(span(1, None, "batch", took=60), *crew(2, 1), *crew(6, 10))
    assert [r["output"] for r in found] == ["2.", "6."]


_CHAIN = {"openinference.span.kind": "CHAIN"}
