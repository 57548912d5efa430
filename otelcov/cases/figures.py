"""What a run took: milliseconds, tokens, calls, errors and cost, as columns beside what a case looks at.

Null is unknown. Tokens are known only if every model call told them; cost only if each also has a price in the config.
"""

from __future__ import annotations

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.models import ModelNames
from otelcov.ground.schemas import signed

FIGURES = (
    "latency_ms",
    "input_tokens",
    "output_tokens",
    "tokens",
    "llm_calls",
    "tool_calls",
    "steps",
    "errors",
    "cost",
)


def figures(runs: pl.DataFrame, config: Config) -> pl.DataFrame:
    """One row a run: what identifies it, what cases look at, its FIGURES, its models."""
    start, end = signed("start_unix_nano"), signed("end_unix_nano")
    status = pl.element().struct.field("status")
    llm, tools = pl.col("llm_calls"), pl.col("tool_calls")
    found = runs.select(
        "run_id",
        "trace_ids",
        "conversation_id",
        "case",
        "service",
        "environment",
        "release",
        "settled",
        "input",
        "output",
        calls=tools,
        delegating=pl.col("delegations").list.eval(
            pl.element().filter(pl.element().struct.field("tool").is_not_null())
        ),
        start_unix_nano=start,
        latency_ms=pl.when(end >= start).then((end - start) / 1e6),
        input_tokens=_sum(llm, "input_tokens"),
        output_tokens=_sum(llm, "output_tokens"),
        llm_calls=llm.list.len().cast(pl.Int64),
        tool_calls=tools.list.eval(pl.element().filter(status.fill_null("unknown") != "requested"))
        .list.len()
        .cast(pl.Int64),
        errors=_errors(llm) + _errors(tools),
    )
    found = found.with_columns(
        tokens=pl.col("input_tokens") + pl.col("output_tokens"),
        steps=pl.col("llm_calls") + pl.col("tool_calls"),
    )
    models, cost = _models(runs, config)
    return found.with_columns(models, cost)


def _sum(calls: pl.Expr, name: str) -> pl.Expr:
    values = calls.list.eval(pl.element().struct.field(name))
    known = values.list.eval(pl.element().is_not_null()).list.all()
    return pl.when((calls.list.len() > 0) & known).then(values.list.sum())


def _errors(calls: pl.Expr) -> pl.Expr:
    return (
        calls.list.eval(pl.element().filter(pl.element().struct.field("status") == "error")).list.len().cast(pl.Int64)
    )


def _models(runs: pl.DataFrame, config: Config) -> tuple[pl.Series, pl.Series]:
    """The canonical names of each run's models, and what its calls cost."""
    calls = (
        runs.select("llm_calls")
        .with_row_index("row")
        .filter(pl.col("llm_calls").list.len() > 0)
        .explode("llm_calls")
        .unnest("llm_calls")
        .with_columns(raw=pl.coalesce("request_model", "response_model"))
    )
    names = ModelNames(config).all(calls["raw"].drop_nulls().unique())
    calls = calls.with_columns(model=pl.col("raw").replace_strict(names, default=None, return_dtype=pl.String))
    prices = {name: model.price for name, model in config.models.items() if model.price is not None}
    million = 1e6
    per = {
        side: pl.col("model").replace_strict(
            {n: getattr(p, side) / million for n, p in prices.items()}, default=None, return_dtype=pl.Float64
        )
        for side in ("input", "output")
    }
    calls = calls.with_columns(cost=pl.col("input_tokens") * per["input"] + pl.col("output_tokens") * per["output"])
    by_run = calls.group_by("row").agg(
        models=pl.col("model").drop_nulls().unique().sort(),
        cost=pl.when(pl.col("cost").is_not_null().all()).then(pl.col("cost").sum()),
    )
    joined = pl.select(row=pl.int_range(runs.height, dtype=pl.UInt32)).join(
        by_run, on="row", how="left", maintain_order="left"
    )
    return joined["models"].cast(pl.List(pl.String)), joined["cost"].cast(pl.Float64)
