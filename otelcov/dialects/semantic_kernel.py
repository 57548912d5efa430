"""Semantic Kernel: parameters that nobody gave stand among a function's arguments, as nulls."""

import polars as pl

from otelcov.dialects.base import Dialect, scope

_FLAT = r"^\{[^{}\[\]]*\}$"

SEMANTIC_KERNEL = Dialect(
    name="semantic-kernel",
    arguments=pl.when(scope(r"^semantic_kernel\.") & pl.col("gen_ai.tool.call.arguments").str.contains(_FLAT)).then(
        pl.col("gen_ai.tool.call.arguments")
        .str.replace_all(r'"[^"]*": ?null, ?', "")
        .str.replace(r',? ?"[^"]*": ?null\}$', "}")
    ),
)
