"""Runs of which a part is lost, or that are told by others than expected: what is known of them, and no more."""

from tests.runs.requests import chat, runs, span, tool


def _said(*messages):
    return [
        {"role": role, "parts": [part if isinstance(part, dict) else {"type": "text", "content": part}]}
        for role, part in messages
    ]


def _asks(id, name, **arguments):
    return "assistant", {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


def _came(id, response):
    return "tool", {"type": "tool_call_response", "id": id, "response": response}


def test_what_a_delegate_answered_last_is_no_answer_of_a_run_whose_end_is_lost():
    """The process was killed in the work of the one that was asked: neither the tool's span nor the run's came."""
    asked = ("user", "Weather in Rome, then book.")
    (run,) = runs(
        chat(2, 90, [("c1", "delegate_to_worker", {"task": "Book"})], _said(asked), at=1),
        chat(3, 91, [("c2", "book", {"city": "Rome"})], _said(("user", "Book")), at=3),
        tool(4, 91, "book", "c2", "booked", at=5),
        chat(5, 91, "Booked.", _said(("user", "Book"), _asks("c2", "book", city="Rome"), _came("c2", "booked")), at=7),
    )
    assert (run["status"], run["input"], run["output"]) == ("unknown", "Weather in Rome, then book.", None)


def test_a_run_whose_frame_is_lost_is_answered_once_what_was_asked_for_has_come():
    asked = ("user", "Weather in Rome, then book.")
    (run,) = runs(
        chat(2, 90, [("c1", "delegate_to_worker", {"task": "Book"})], _said(asked), at=1),
        chat(3, 91, "Booked.", _said(("user", "Book")), at=3),
        chat(
            4, 90, "Done.", _said(asked, _asks("c1", "delegate_to_worker", task="Book"), _came("c1", "Booked.")), at=5
        ),
    )
    assert (run["status"], run["output"]) == ("ok", "Done.")


def _workflow(first, at, words, *, whole=True):
    """A graph of LangGraph's under Traceloop, which stays current once it is over."""
    traceloop = {"scope": "opentelemetry.instrumentation.langchain"}
    told = {"traceloop.span.kind": "workflow", "traceloop.entity.name": "planner"}
    above = first if whole else 90
    asked = _said(("system", "You plan."), ("user", words))
    frame = [span(first, None, "planner.workflow", at=at, took=9, attributes=told, **traceloop)] if whole else []
    return (
        *frame,
        chat(first + 1, above, [(f"c{first}", "look", {"q": words})], asked, at=at + 1, **traceloop),
        tool(first + 2, above, "look", f"c{first}", "seen", at=at + 3, **traceloop),
    )


def test_what_was_asked_after_a_run_is_another_though_its_frame_is_lost():
    """The second graph was laid under the first, which was over, and the process was killed in it."""
    one, two = runs(*_workflow(1, 0, "Oslo"), *_workflow(11, 20, "Rome", whole=False))
    assert [len(run["llm_calls"]) for run in (one, two)] == [1, 1]
    assert [[c["call_id"] for c in run["tool_calls"]] for run in (one, two)] == [["c1"], ["c11"]]
    assert "missing parent" in two["incomplete"]


def test_a_step_of_a_run_that_is_lost_in_part_is_no_other_request():
    one = runs(*_workflow(1, 0, "Oslo"), *_workflow(11, 4, "Rome", whole=False))
    assert [len(run["llm_calls"]) for run in one] == [2]


def test_the_number_of_a_step_is_no_name_of_an_agent():
    """Strands under OpenInference's processor, killed before the agent's own span was over."""
    strands = {"scope": "strands.telemetry.tracer"}
    node = {"openinference.span.kind": "LLM", "graph.node.id": "llm_15145922396837886314"}
    ran = {"openinference.span.kind": "TOOL", "tool.name": "look", "graph.node.id": "tool_look_6815301414805154821"}
    (run,) = runs(
        span(2, 90, "chat", attributes=node | {"llm.model_name": "m"}, **strands),
        span(3, 90, "execute_tool look", at=2, attributes=ran, **strands),
    )
    assert run["agents"] == []
    assert [c["agent"] for c in (*run["llm_calls"], *run["tool_calls"])] == [None, None]


def test_a_tool_that_failed_says_nothing_of_a_run_that_never_came():
    """A collector that keeps only spans with errors."""
    (run,) = runs(tool(2, 90, "look", "c1", error="no such city"))
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("unknown", ["error"])
    assert "error" not in run["boundaries"]
