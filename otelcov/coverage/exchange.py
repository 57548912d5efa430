"""Observations as a file, so that regions, shards and CI jobs can be added up elsewhere.

One JSON document: the rows, the text of their items, and the ids of the runs that were counted, so that nothing is
added twice. FORMAT history:
1  first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from otelcov.coverage.observations import ITEMS, ROWS, Observations, merge
from otelcov.ground.errors import StoreError, UsageError
from otelcov.ground.selection import Selection
from otelcov.ground.windows import Window

FORMAT = 1
KIND = "otelcov observations"


@dataclass(frozen=True)
class Kept:
    """Observations of a window, with what is needed to add them to others."""

    observations: Observations
    windows: tuple[tuple[int | None, int | None], ...]
    selection: dict[str, list[str]]
    quality: dict[str, int | None]
    run_ids: frozenset[str]

    @property
    def window(self) -> Window:
        """The least window that holds all."""
        sinces, untils = zip(*self.windows, strict=True) if self.windows else ((None,), (None,))
        return Window(
            None if None in sinces else min(s for s in sinces if s is not None),
            None if None in untils else max(u for u in untils if u is not None),
        )

    @property
    def chosen(self) -> Selection:
        return Selection(**{name: tuple(values) for name, values in self.selection.items()})


def write(path: Path, kept: Kept) -> None:
    import msgspec

    observations = kept.observations.sorted()
    rows = observations.rows.with_columns(pl.col("item").bin.encode("hex"))
    items = observations.items.with_columns(pl.col("item").bin.encode("hex"))
    document = {
        "format": FORMAT,
        "kind": KIND,
        "windows": sorted(kept.windows, key=str),
        "selection": kept.selection,
        "quality": kept.quality,
        "columns": rows.columns,
        "rows": rows.rows(),
        "items": dict(items.iter_rows()),
        "runs": sorted(kept.run_ids),
    }
    path.write_bytes(msgspec.json.encode(document) + b"\n")


def read(path: Path) -> Kept:
    import msgspec

    try:
        document = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise StoreError(f"Couldn't read {path}: {error.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"Couldn't use {path}: it is not JSON: {error}. Make one with `otelcov snapshot --out FILE`."
        ) from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise UsageError(f"Couldn't use {path}: it holds no observations. Make one with `otelcov snapshot --out FILE`.")
    if document.get("format") != FORMAT:
        raise UsageError(f"Couldn't use {path}: its format is {document.get('format')}, this otelcov reads {FORMAT}.")
    try:
        return _kept(document)
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"Couldn't use {path}: it is damaged: {error}.") from None


def combine(parts: Iterable[tuple[str, Kept]]) -> Kept:
    """The sum of files; refused where two of them counted the same run."""
    seen: dict[str, str] = {}
    kept: list[Kept] = []
    for name, part in parts:
        again = next((seen[run] for run in sorted(part.run_ids) if run in seen), None)
        if again is not None:
            double = sum(run in seen for run in part.run_ids)
            raise UsageError(f"Couldn't combine {name} with {again}: both counted the same runs ({double} of them).")
        seen |= dict.fromkeys(part.run_ids, name)
        kept.append(part)
    selections = {str(sorted(p.selection.items())) for p in kept}
    return Kept(
        merge(*(p.observations for p in kept)),
        tuple(sorted({w for p in kept for w in p.windows}, key=str)),
        kept[0].selection if len(selections) == 1 else {},
        {name: _sum(p.quality.get(name) for p in kept) for name in sorted({n for p in kept for n in p.quality})},
        frozenset(seen),
    )


def universes(kept: Kept) -> dict[str, frozenset[str]]:
    """What a frozen baseline knows: the tools and models that were used in it."""
    rows = kept.observations.texts().filter(pl.col("agent").is_null() & (pl.col("calls") > 0))
    return {name: frozenset(rows.filter(pl.col("dimension") == name)["item"]) for name in ("tool", "model")}


def _kept(document: dict[str, Any]) -> Kept:
    columns = document["columns"]
    text_rows = pl.Schema({name: pl.String if name == "item" else kind for name, kind in ROWS.items()})
    rows = pl.DataFrame(document["rows"], schema={c: text_rows[c] for c in columns}, orient="row")
    items = pl.DataFrame(
        {"item": list(document["items"]), "text": list(document["items"].values())},
        schema={"item": pl.String, "text": pl.String},
    )
    hashed = pl.col("item").str.decode("hex")
    observations = Observations(
        rows.with_columns(hashed).select(ROWS.names()).cast(ROWS),
        items.with_columns(hashed).cast(ITEMS),
    )
    return Kept(
        merge(observations),
        tuple((since, until) for since, until in document["windows"]),
        document["selection"],
        document["quality"],
        frozenset(document["runs"]),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
