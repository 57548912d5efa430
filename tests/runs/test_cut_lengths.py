"""How long values are, where one attribute is told as several facts, and where it is a list of texts."""

import json

import polars as pl

from otelcov.runs.trace.long_texts import lengths, longest_member
from tests.runs.requests import agent, runs, span


def test_a_text_that_spans_of_other_kinds_tell_as_another_fact_is_measured_in_all_of_them():
    texts = pl.DataFrame({"kind": ["llm", "tool"] * 500, "text": ['{"a": "' + "x" * n for n in (90, 20)] * 500})
    facts = [pl.when(kind == pl.col("kind")).then("text").alias(kind) for kind in ("llm", "tool")]
    found = lengths([*texts.select(facts), texts["text"]])
    for some in (found, lengths([*texts.select(facts).get_columns()[::-1]])):
        assert some["longest"].to_list()[:2] == [97, 27]
        assert some["cut"].to_list()[:2] == [97, 27]


def test_a_list_of_texts_is_as_long_as_the_longest_of_them():
    told = pl.Series([None, json.dumps(["one", "three"]), "[1, 2]", "words"])
    assert longest_member(told).to_list() == [None, "three", "[1, 2]", "words"]


def test_an_answer_is_cut_where_each_text_of_a_list_is():
    tools = [json.dumps({"type": "function", "name": name, "description": "d" * 300})[:256] for name in ("a", "b", "c")]
    told = {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.tools": tools, "ai.response.text": "y" * 256}
    model = span(2, 1, "ai.generateText.doGenerate", scope="ai", at=1, attributes=told | {"ai.model.id": "m"})
    (run,) = runs(agent(1, "planner", took=5), model)
    assert run["output"] is None and "truncated values" in run["incomplete"]
