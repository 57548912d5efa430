"""What a table weighs: bytes a row, and how much of that is content, which is read only when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from otelcov.store import remote
from otelcov.store.commit import NEW
from otelcov.store.tables import Table

_FOOTERS = 64  # files whose columns are looked at; the share of content is theirs


@dataclass(frozen=True)
class Size:
    rows: int
    bytes: int
    files: int
    new_files: int  # not rewritten yet
    content_share: float  # of the bytes, 0..1


def size(table: Table) -> Size | None:
    """Of all files of this version; None if it has none."""
    files = table.files()
    rows = int(files["num_records"].sum())
    if not rows:
        return None
    new = files["path"].str.contains(f"/{NEW}", literal=True)
    every = max(1, files.height // _FOOTERS)
    some = files.sort("path").gather_every(every).head(_FOOTERS)
    return Size(rows, int(files["size_bytes"].sum()), files.height, int(new.sum()), _content_share(table, some))


def _content_share(table: Table, files: pl.DataFrame) -> float:
    """By the footers of the files: compressed bytes of the column `content`, and of a log record's body."""
    import pyarrow.fs as pa_fs
    import pyarrow.parquet as pq
    from deltalake.fs import DeltaStorageHandler

    there: Any = pa_fs.PyFileSystem(DeltaStorageHandler(table.url, remote.options(table.url)))
    content = total = 0
    for path in files["path"]:
        with there.open_input_file(path) as file:
            about = pq.read_metadata(file)
        for group in range(about.num_row_groups):
            for at in range(about.num_columns):
                chunk = about.row_group(group).column(at)
                total += chunk.total_compressed_size
                if chunk.path_in_schema.split(".")[0] in ("content", "body"):
                    content += chunk.total_compressed_size
    return content / total if total else 0.0
