"""Runs of which a part is lost, or that are told by others than expected: what is known of them, and no more."""

from tests.runs.requests import chat, runs, tool


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
