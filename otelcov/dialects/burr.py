"""Apache Burr's bridge tells of a function neither what it gave nor that it threw, and says of all that it went well:
of a tool among them what a model saw tells more."""

import polars as pl

from otelcov.dialects.base import OTHER, Dialect

BURR = Dialect(name="burr", kind=pl.when(pl.col("__burr_function").is_not_null()).then(pl.lit(OTHER)))
