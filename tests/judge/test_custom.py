"""Custom metrics, by path or entry point: numbers and labels, per turn and per conversation, with thresholds."""

from __future__ import annotations

import sys

import pytest

from tests.judge.ask import judge
from tests.judge.server import Reply, fine, says, serving
from tests.judge.traffic import Said, Tool, store

METRICS = """
from pydantic import BaseModel
from otelcov.judge.custom import metric
from otelcov.judge.metrics import Metric

TONE = Metric(
    "tone",
    "Is the tone friendly?",
    (("5", "Friendly"), ("1", "Rude")),
)


class Length:
    name = "length"

    def score(self, turn):
        return len(turn.agent_message), "counted"


@metric("politeness", kind="qualitative", labels=["no failure", "rude"], severities={"rude": "critical"})
def politeness(turn):
    return "rude" if "fool" in turn.agent_message else "no failure"


@metric("tools_used", per="conversation")
def tools_used(conversation):
    return sum(len(turn.tool_calls or ()) for turn in conversation.turns)


class Answer(BaseModel):
    grade: int


@metric("grade")
async def grade(turn, ask):
    answer = await ask("Grade this. You evaluate by one metric: grade.", {"text": turn.agent_message}, Answer)
    return answer.grade


@metric("broken")
def broken(turn):
    raise KeyError("city")


@metric("nothing")
def nothing(turn):
    return None
"""
TURNS = [
    Said("first question", "a fine answer", [Tool("get_weather", {"city": "Oslo"}, "sunny")]),
    Said("second question", "you fool, go away"),
]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "mine.py").write_text(METRICS)
    return store(tmp_path, TURNS)


def _values(document):
    return {row["metric"]: row["value"] for row in document["metrics"]}


def test_they_run_without_a_model_and_their_thresholds_hold(place):
    file = str(place.parent / "mine.py")
    names = [arg for name in ("length", "tools_used") for arg in ("--metric", name)]
    code, document = judge(place, "--custom", f"{file}:Length", "--custom", f"{file}:tools_used", *names)
    assert _values(document) == {"length": 15.0, "tools_used": 1.0}
    assert code == 0
    code, document = judge(place, "--custom", f"{file}:Length", "--threshold", "length=16")
    assert code == 1


def test_a_file_without_a_name_gives_all_its_metrics(place):
    _, document = judge(place, "--custom", str(place.parent / "mine.py"))
    assert {"tone", "length", "politeness", "tools_used", "grade", "broken", "nothing"} <= set(_values(document))


def test_a_label_of_theirs_is_an_error_of_its_severity(place):
    code, document = judge(place, "--custom", f"{place.parent}/mine.py:politeness", "--metric", "politeness")
    assert [(e["label"], e["severity"], e["examples"][0]["turn"]) for e in document["errors"]] == [
        ("rude", "critical", 1)
    ]
    assert _values(document) == {"politeness": 0.5}
    assert code == 1


def test_a_question_and_a_guide_are_enough_for_a_model(place):
    def script(request):
        assert "Is the tone friendly?" in request.system
        return says(reason="r", score=2)

    with serving(script) as server:
        only = ("--custom", f"{place.parent}/mine.py:TONE", "--metric", "tone")
        _, document = judge(place, *only, url=server.url)
    assert _values(document) == {"tone": 2.0}


@pytest.mark.full
def test_they_may_ask_the_judge_with_the_same_ledger(place):
    only = ("--custom", f"{place.parent}/mine.py:grade", "--metric", "grade")
    with serving(lambda request: says(grade=len(request.data["text"]))) as server:
        _, document = judge(place, *only, url=server.url)
        judge(place, *only, url=server.url)
        assert len(server.requests) == 2
    assert _values(document) == {"grade": 15.0}
    with serving(lambda _: Reply(status=500)) as server:
        _, document = judge(place, *only, "--judge-model", "openai:other", url=server.url)
    assert document["metrics"][0]["missing"] == {"server_error": 2}


def test_one_that_raises_costs_its_own_value_and_nobody_elses(place):
    file = str(place.parent / "mine.py")
    names = ("--metric", "broken", "--metric", "nothing", "--metric", "helpfulness")
    with serving(fine) as server:
        code, document = judge(place, "--custom", file, *names, "--threshold", "broken=1", url=server.url)
    missing = {row["metric"]: row["missing"] for row in document["metrics"]}
    assert missing == {"broken": {"failed": 2}, "nothing": {"no_value": 2}, "helpfulness": {}}
    assert any(r["missing"] == "failed: KeyError: 'city'" for r in document["results"])
    assert code == 3


@pytest.mark.parametrize("body", ["return next(iter(()))", "import sys; sys.exit(0)"])
def test_one_that_stops_everything_else_where_it_is_called_does_not_here(place, body):
    (place.parent / "stops.py").write_text(
        f"from otelcov.judge.custom import metric\n@metric('stops')\ndef stops(turn):\n    {body}\n"
    )
    _, document = judge(place, "--custom", str(place.parent / "stops.py"), "--metric", "stops")
    assert document["metrics"][0]["missing"] == {"failed": 2}


def test_any_reason_is_text_and_what_is_printed_is_not_machine_output(place):
    (place.parent / "odd.py").write_text(
        "from otelcov.judge.custom import metric\n"
        "@metric('odd')\ndef odd(turn):\n    print('hello')\n    return 4, ValueError('\\ud800')\n"
    )
    _, document = judge(place, "--custom", str(place.parent / "odd.py"), "--metric", "odd")
    assert [r["reason"] for r in document["results"]] == ["?", "?"]


def test_they_are_found_by_entry_point(place, monkeypatch):
    folder = place.parent / "site"
    info = folder / "shop_metrics-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "shop_metrics.py").write_text(METRICS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-metrics\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[otelcov.metrics]\nlength = shop_metrics:Length\n")
    monkeypatch.syspath_prepend(str(folder))
    try:
        _, document = judge(place, "--metric", "length")
    finally:
        sys.modules.pop("shop_metrics", None)
    assert _values(document) == {"length": 15.0}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("absent.py", "there is no such file"),
        ("no.such.module", "No module named"),
        ("mine.py:Absent", "has no Absent"),
        ("mine.py:Answer", "needs a `name` and a method `score`"),
        ("raises.py", "ZeroDivisionError"),
        ("words.py", "got 'dire'"),
    ],
)
def test_one_that_cannot_be_used_is_a_usage_error(place, source, told):
    (place.parent / "raises.py").write_text("1 / 0")
    (place.parent / "words.py").write_text(
        "from otelcov.judge.custom import metric\n"
        "@metric('w', kind='qualitative', severities={'bad': 'dire'})\ndef w(turn): return 'bad'\n"
    )
    where = str(place.parent / source) if ".py" in source else source
    code, output = judge(place, "--custom", where)
    assert code == 2
    assert told in output


def test_an_unknown_metric_is_a_usage_error_with_a_suggestion(place):
    code, output = judge(place, "--metric", "helpfulnes")
    assert code == 2
    assert 'Did you mean "helpfulness"?' in output
    code, output = judge(place, "--threshold", "helpfulnes=3")
    assert code == 2
    assert 'Did you mean "helpfulness"?' in output


def test_a_name_that_is_taken_is_refused(place):
    (place.parent / "again.py").write_text(METRICS.replace('"tone"', '"helpfulness"'))
    code, output = judge(place, "--custom", str(place.parent / "again.py"))
    assert code == 2
    assert 'defines the metric "helpfulness" a second time' in output
