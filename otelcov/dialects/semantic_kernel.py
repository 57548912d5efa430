"""Semantic Kernel: parameters that nobody gave stand among a function's arguments, as nulls. For .NET, and at first for
Python, a function's span has nothing but a name, and a prompt that a program runs is one, too, under a name made up for
it (for Python, of sixteen letters)."""

import polars as pl

from otelcov.dialects.base import CHAIN, TOOL, Dialect, scope, span_name

_FLAT = r"^\{[^{}\[\]]*\}$"
_FUNCTION = (
    scope(r"^Microsoft\.SemanticKernel$|^semantic_kernel\.functions\.") & pl.col("gen_ai.operation.name").is_null()
)
_PROMPT = (
    scope(r"^semantic_kernel\.functions\.")
    & pl.col("gen_ai.tool.call.id").is_null()
    & pl.coalesce(["gen_ai.tool.name", "span.name"]).str.contains(r"^[A-Za-z]{16}$")
)

SEMANTIC_KERNEL = Dialect(
    name="semantic-kernel",
    kind=pl.when(
        scope(r"^Microsoft\.SemanticKernel$")
        & span_name(r"^(?:execute_tool )?(?:InvokePrompt\w*_|func_?)([0-9a-f]{32})$").is_not_null()
    )
    .then(pl.lit(CHAIN))
    .when(_PROMPT)
    .then(pl.lit(CHAIN))
    .when(_FUNCTION)
    .then(pl.lit(TOOL)),
    tool=pl.when(_FUNCTION).then(pl.col("span.name").str.replace(r"^execute_tool ", "")),
    arguments=pl.when(scope(r"^semantic_kernel\.") & pl.col("gen_ai.tool.call.arguments").str.contains(_FLAT)).then(
        pl.col("gen_ai.tool.call.arguments")
        .str.replace_all(r'"[^"]*": ?null, ?', "")
        .str.replace(r',? ?"[^"]*": ?null\}$', "}")
    ),
)
