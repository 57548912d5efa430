"""What is known of spans of which an SDK dropped attributes: it keeps so many, and messages are many. And of those that
are called a model's by one attribute that everything has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from otelcov.dialects import base

_Families = dict[str, dict[int, list[tuple[str, Any]]]]
_ASKED, _ANSWERED = (
    tuple(prefix for prefix, column in base.FAMILIES.items() if column == family)
    for family in ("flat_input", "flat_output")
)
_MODELS_ALONE = ("request_model", "response_model", "response_id", "input_tokens", "output_tokens", "finish")


def kinds_lost(found: pl.DataFrame, spans: pl.DataFrame, families: _Families) -> pl.DataFrame:
    """What tells a model's answer or the tools that it was offered one by one is a model's span, also where the
    attribute that says so was dropped; so is what tells an input to the end of all that is left, or beside what models
    alone have. A chain may tell messages, too."""
    lost = found["kind"].is_null() & (spans["dropped_attributes_count"].fill_null(0) > 0)
    if not lost.any():
        return found
    flat = pl.Series(sorted(families["flat_input"]), dtype=pl.UInt32)
    flat = flat.filter(lost[flat])
    beside = found[flat].select(pl.any_horizontal(pl.col(_MODELS_ALONE).is_not_null())).to_series()
    lists = spans.select("attributes", "content")[flat].iter_rows()
    asked = {row for row, sure, told in zip(flat, beside, lists, strict=True) if sure or _ends_in_input(told)}
    told = asked | families["flat_output"].keys() | families["flat_tools"].keys()
    models = lost & found["agent"].is_null() & pl.Series(range(found.height)).is_in(sorted(told))
    return found.with_columns(kind=pl.when(models).then(pl.lit(base.LLM)).otherwise("kind"))


def called_so_alone(
    found: pl.DataFrame, spans: pl.DataFrame, context: pl.DataFrame, families: _Families
) -> pl.DataFrame:
    """What is called a model's span, did not fail, and tells nothing that models have is none: OpenInference's
    converter of GenAI spans for JavaScript calls so all that it does not know, a program's own spans and requests over
    HTTP."""
    if _CALLED not in context.columns:
        return found
    facts = [*_MODELS_ALONE, *_SAID]
    bare = (found["kind"] == base.LLM) & (context[_CALLED].str.to_uppercase() == "LLM")
    bare = bare & (spans["dropped_attributes_count"].fill_null(0) == 0) & (spans["status_code"] != 2)
    bare = bare & ~context["scope.name"].str.contains("openinference", literal=True)
    bare = bare & found.select(pl.all_horizontal(pl.col(facts).is_null())).to_series()
    if not bare.fill_null(value=False).any():
        return found
    told = {row for family in families.values() for row in family}
    bare = (bare & ~pl.Series(range(found.height)).is_in(sorted(told))).fill_null(value=False)
    table = pl.DataFrame(
        {"trace": spans["trace_id"], "scope": context["scope.name"], "kind": found["kind"], "bare": bare}
    )
    more = ((pl.col("kind") == base.LLM) & ~pl.col("bare")).any().over("trace", "scope")
    alone = table.select(pl.col("bare") & ~more.fill_null(value=False)).to_series()
    return found.with_columns(kind=pl.when(~alone).then("kind"))


_CALLED = "openinference.span.kind"
_SAID = ("input_messages", "output_messages", "input", "output", "definitions", "error_type")


def _ends_in_input(lists: Iterable[list[dict[str, Any]] | None]) -> bool:
    """Is what is left last of short values, or of long ones, of a message that was asked?"""
    return any(pairs[-1]["key"].startswith(_ASKED) for pairs in lists if pairs)


def answers_first(spans: pl.DataFrame, families: _Families) -> set[int]:
    """The rows where what tells the answer comes before the end of the input: that is whole only where the oldest were
    dropped, not the newest."""
    both = pl.Series(sorted(families["flat_input"].keys() & families["flat_output"].keys()), dtype=pl.UInt32)
    lost = both.filter(spans["dropped_attributes_count"][both].fill_null(0) > 0)
    lists = spans.select("attributes", "content")[lost].iter_rows()
    return {row for row, told in zip(lost, lists, strict=True) if _last(told).startswith(_ASKED)}


def _last(lists: Iterable[list[dict[str, Any]] | None]) -> str:
    """The last key of a message: among short values, as roles are, else among long ones, which are kept apart."""
    told = (pair["key"] for pairs in lists for pair in reversed(pairs or ()))
    return next((key for key in told if key.startswith(_ASKED + _ANSWERED)), "")
