"""An answer that is cut down to what a batch of spans can make true tells of them what the whole one tells."""

import random
import re

import polars as pl
import pytest

from otelcov.dialects import answers, asked, registry
from otelcov.dialects.answers import CONTEXT, Answer, Present, conditions

ALL = [answer for some in asked._answers(registry.DIALECTS).values() for answer in some if not answer.plain]


def _words(answer: Answer) -> list[str]:
    """Texts that some of its conditions may be true of."""
    told = re.findall(r'"([^"]*)"', re.sub(r'col\("[^"]*"\)', "", str(answer.expr)))
    return [
        *sorted({w for word in told for w in (word, re.sub(r"[\\^$()?:]", "", word).split("|")[0])}),
        "x",
        "{}",
        "1",
    ]


def _batch(answer: Answer, by: random.Random) -> pl.DataFrame:
    share = by.choice([0.2, 0.5, 0.9])
    there = [root for root in answer.roots if root in CONTEXT or by.random() < share]
    words = [*_words(answer), None]
    rows = by.choice([1, 12])
    texts = {root: [by.choice(words) for _ in range(rows)] for root in there if root != "span.kind"}
    kinds = {"span.kind": [by.choice([1, 3, None]) for _ in range(rows)]} if "span.kind" in there else {}
    return pl.DataFrame(
        {"row": range(rows), **texts, **kinds},
        schema={"row": pl.Int64, **dict.fromkeys(texts, pl.String), **dict.fromkeys(kinds, pl.Int64)},
    )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_of_an_answer_tells_what_the_whole_tells(seed):
    by = random.Random(seed)
    shorter = 0
    for answer in ALL:
        batch = _batch(answer, by)
        absent = [pl.lit(None, dtype=pl.String).alias(root) for root in answer.roots if root not in batch.columns]
        left = answer.cut(Present.of(batch))
        whole = batch.with_columns(absent).select(answer.expr).to_series().cast(pl.String)
        if left is None:
            assert whole.null_count() == batch.height, answer.expr
            continue
        told = batch.with_columns(absent).select(row="row", told=left.expr)["told"].cast(pl.String)
        assert told.equals(whole, null_equal=True), answer.expr
        shorter += left is not answer
    assert shorter > 50


def _nothing(exprs: list[pl.Expr]) -> dict[str, object]:
    """What these tell where every column is null."""
    roots = {root for expr in exprs for root in expr.meta.root_names()}
    types = {root: pl.Int64 if root == "span.kind" else pl.String for root in roots}
    nothing = pl.DataFrame({root: [None] for root in roots}, schema=types)
    return nothing.select(expr.alias(str(expr)) for expr in exprs).row(0, named=True)


def test_what_asks_for_an_attribute_tells_nothing_without_it():
    for answer in ALL:
        answer.cut(Present.of(pl.DataFrame({root: ["x"] for root in answer.roots})))
    asking = [condition.expr for condition in answers._CONDITIONS.values() if condition.asks]
    values = [leaf.expr for answer in ALL for leaf in _leaves(answer._form) if leaf.asks]
    assert (len(asking), len(values)) > (300, 300)
    assert [text for text, held in _nothing(asking).items() if held] == []
    assert [
        text for text, told in _nothing(list({str(v): v for v in values}.values())).items() if told is not None
    ] == []


def _leaves(form):
    match form:
        case answers._First():
            return [leaf for part in form.parts for leaf in _leaves(part)]
        case answers._Chain():
            below = [*(branch.value for branch in form.branches), *([form.default] if form.default else [])]
            return [leaf for part in below for leaf in _leaves(part)]
    return [form]


@pytest.mark.parametrize(
    ("expr", "asks"),
    [
        (pl.col("a") == "x", True),
        (pl.col("a").str.strip_chars('"').fill_null("x") == "x", False),
        (pl.col("a").is_null(), False),
        (~pl.col("a").is_not_null(), False),
        (pl.col("a").is_not_null(), True),
        (pl.col("a").is_not_null() == pl.lit(value=False), False),
        (pl.col("a").is_not_null() == pl.col("b").is_not_null(), False),
        (pl.coalesce("a", "b") == "x", True),
        (pl.coalesce("a", pl.lit("x")) == "x", False),
        (pl.when(pl.col("a").is_not_null()).then(pl.lit("y")).otherwise(pl.lit("x")) == "x", False),
        (pl.col("a").replace_strict({"b": "c"}, default="x") == "x", False),
        (pl.col("a").eq_missing(pl.col("b")), False),
        (pl.lit(value=True), False),
        (pl.col("a").replace_strict({"b": "c"}, default=None) == "x", True),
    ],
)
def test_who_asks_for_an_attribute(expr, asks):
    [condition] = conditions(expr)
    assert condition.asks == asks


def test_a_value_that_stands_for_nothing_is_kept():
    answer = Answer.of(pl.when(pl.col("a") == "x").then(pl.col("b").fill_null("")).otherwise(pl.col("c")))
    left = answer.cut(Present.of(pl.DataFrame({"a": ["x"], "c": ["y"]})))
    assert left is not None
    assert pl.DataFrame({"a": ["x"], "b": [None], "c": ["y"]}).select(left.expr.alias("told"))["told"].to_list() == [""]


def test_long_lists_that_are_written_alike_are_told_apart():
    [one], [other] = (conditions(pl.col("a").is_in(["b", "c", middle, "z"])) for middle in "de")
    assert [pl.DataFrame({"a": ["e"]}).select(c.expr).item() for c in (one, other)] == [False, True]


def test_a_condition_on_scopes_may_have_one_value_for_all():
    scope = pl.col("scope.name")
    [of_all], [of_each] = (conditions(expr) for expr in ((scope == "a").any(), scope == "a"))
    for condition in (of_all, of_each):
        assert condition.holds_of(frozenset({"a", "b", None}))
        assert not condition.holds_of(frozenset({"c", "d"}))
