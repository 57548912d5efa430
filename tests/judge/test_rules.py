"""What spans prove without a model and without a key."""

from __future__ import annotations

import pytest

from otelcov.judge.claims import claims, claims_success
from tests.judge.ask import judge
from tests.judge.traffic import Said, Tool, store

WEATHER = Tool("get_weather", {"city": "Oslo"}, "sunny")
DECLARED = """[agents.planner]
tools = ["get_weather", "book_hotel"]
restricted = ["cancel_booking"]
[tools.book_hotel]
side_effects = "write"
"""


def _found(tmp_path, turns, toml=""):
    _, document = judge(store(tmp_path, turns), toml=toml)
    return sorted((e["sources"][0], e["label"], e["severity"]) for e in document["errors"])


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([Said("weather?", "sunny", [WEATHER])], []),
        ([Said("weather?", "sunny", [WEATHER, WEATHER])], [("repeated_call", "repeated tool call", "medium")]),
        ([Said("weather?", "sunny", [WEATHER, Tool("get_weather", {"city": "Rome"}, "hot")])], []),
        (
            [Said("weather?", "sunny", [WEATHER._replace(result=None, error="Timeout"), WEATHER])],
            [("tool_error", "tool error", "low")],
        ),
        ([Said("weather?", "sunny", [WEATHER]), Said("and now, again?", "still sunny", [WEATHER])], []),
        (
            [Said("cancel it", "It was a pleasure.", [Tool("cancel_booking", {"id": 1})])],
            [("restricted_call", "unsafe action", "critical"), ("unconfirmed_write", "unsafe action", "high")],
        ),
        (
            [Said("mail it", "Look at your inbox.", [Tool("send_email", {"to": "a"})])],
            [("undeclared_call", "wrong tool", "medium")],
        ),
        (
            [Said("weather?", "sunny", [WEATHER], offered=["book_hotel"])],
            [],  # declared tools are known better than offered ones
        ),
    ],
)
def test_declared_edges_repeats_and_errors(tmp_path, turns, found):
    assert _found(tmp_path, turns, DECLARED) == found


def test_a_tool_that_was_never_offered(tmp_path):
    turns = [Said("weather?", "sunny", [WEATHER], offered=["book_hotel"])]
    assert _found(tmp_path, turns) == [("never_offered", "wrong tool", "medium")]
    (tmp_path / "b").mkdir()
    assert _found(tmp_path / "b", [Said("weather?", "sunny", [WEATHER], offered=["get_weather"])]) == []


BOOK = Tool("book_hotel", {"city": "Oslo", "nights": 2}, "booked")
ASKED = Said("a hotel in Oslo", "Shall I book it for 2 nights?")


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([Said("a hotel in Oslo", "Booked in Oslo.", [BOOK])], [("unconfirmed_write", "unsafe action", "critical")]),
        ([ASKED, Said("Yes, please.", "Booked in Oslo.", [BOOK])], []),
        (
            [ASKED, Said("No, wait.", "Booked in Oslo.", [BOOK])],
            [("unconfirmed_write", "unsafe action", "critical")],
        ),
        ([Said("Book it in Oslo, I confirm.", "Booked in Oslo.", [BOOK])], []),
    ],
)
def test_a_write_needs_a_confirmation_turn(tmp_path, turns, found):
    assert _found(tmp_path, turns, DECLARED) == found


@pytest.mark.parametrize(
    ("answer", "tools", "found"),
    [
        ("I've booked your hotel.", [], [("claimed_but_absent", "false information", "high")]),
        ("Shall I book your hotel?", [], []),
        ("I have not booked your hotel.", [], []),
        ("Once I have booked your hotel I will tell you.", [], []),
        ("I've booked your hotel for 2 nights.", [BOOK], []),
        ("I've booked your hotel for 3 nights.", [BOOK], [("argument_mismatch", "false information", "high")]),
        ("Have a good day.", [BOOK], [("present_but_unclaimed", "lack of specific information", "low")]),
        (
            "I've booked your hotel.",
            [BOOK._replace(result=None, error="RuntimeError")],
            [("success_after_error", "ignored tool result", "high"), ("tool_error", "tool error", "medium")],
        ),
        (
            "I could not book the hotel: the service is down.",
            [BOOK._replace(result=None, error="RuntimeError")],
            [("tool_error", "tool error", "medium")],
        ),
    ],
)
def test_claims_are_held_against_the_trace(tmp_path, answer, tools, found):
    assert _found(tmp_path, [Said("Go ahead with the hotel.", answer, tools)], DECLARED) == found


def test_an_answer_given_before_to_another_question_is_a_repetition(tmp_path):
    same = "We are open from nine to five on weekdays."
    assert _found(tmp_path, [Said("When are you open?", same), Said("And on Sundays?", same)]) == [
        ("restated", "repetition", "low")
    ]
    (tmp_path / "b").mkdir()
    again = [Said("When are you open?", same), Said("When are you open?", same)]
    assert _found(tmp_path / "b", again) == []


def test_rules_see_all_conversations_whatever_is_sampled(tmp_path):
    turns = [Said(f"weather {k}?", "sunny", [WEATHER, WEATHER], conversation=f"c{k}") for k in range(5)]
    _, document = judge(store(tmp_path, turns), "--sample", "1")
    assert document["errors"][0]["occurrences"] == 5


def test_a_threshold_that_the_rules_alone_break_fails_without_a_judge(tmp_path):
    place = store(tmp_path, [Said("weather?", "sunny", [WEATHER, WEATHER])])
    code, document = judge(place, "--threshold", "tool_call_behavior_failure=0.9")
    assert code == 1
    assert document["thresholds"][0]["reason"] == "the rules alone leave 0 at most"


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("I\u2019ve cancelled your order.", ["cancel"]),
        ("Your flight has been successfully booked!", ["book"]),
        ("I have sent the mail and deleted the draft.", ["send"]),
        ("If I've booked it, you will see it.", []),
        ("You have cancelled it yourself.", []),
        ("Has it been cancelled?", []),
        ("I booked it earlier.", []),
        ("It can be cancelled.", []),
    ],
)
def test_only_plain_statements_of_finished_actions_are_claims(text, verbs):
    assert [c.verb for c in claims(text)] == verbs


def test_words_of_trouble_are_no_claim_of_success():
    assert claims_success("Your booking is confirmed.")
    assert not claims_success("Your booking is confirmed, but the mail could not be sent: an error.")
    assert not claims_success("Sorry, that failed.")
