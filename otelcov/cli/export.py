"""`otelcov export`: runs, or the spans of whole traces, for other programs."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from otelcov.cli.measuring import Listed, Question, asking

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl


@asking
def export(
    question: Question,
    format: Annotated[
        Literal["otlp-json", "otlp", "jsonl", "csv", "parquet"],
        typer.Option("--format", envvar="OTELCOV_FORMAT", help="otlp and otlp-json hold whole traces."),
    ] = "otlp-json",
    what: Annotated[
        Literal["runs", "traces"] | None,
        typer.Option("--what", envvar="OTELCOV_WHAT", help="For csv and parquet: runs (the default) or their spans."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            envvar="OTELCOV_OUTPUT",
            metavar="PATH",
            help="Write here instead of stdout; otlp: a folder.",
        ),
    ] = None,
) -> int:
    """Write runs, or the spans of whole traces, to a file.

    The runs are those that `otelcov runs` lists with the same options. otlp-json is one OTLP request a line, spans and
    log records, which `otelcov import` takes in again with the same result; otlp is the same as protobuf, in a folder.
    jsonl is what `otelcov runs --format jsonl` prints.
    """
    from otelcov.cli.runs import found, whole
    from otelcov.ground.errors import UsageError

    traces = format in ("otlp", "otlp-json") or (what == "traces" and format != "jsonl")
    if what == ("runs" if traces else "traces"):
        raise UsageError(f"--format {format} holds {'whole traces' if traces else 'runs'}. Leave --what away.")
    if format == "otlp" and output is None:
        raise UsageError("--format otlp writes several files. Name a folder with --output.")
    listed = found(question)
    if listed.rows.is_empty():
        return 0
    if not traces:
        with _sink(output) as sink:
            _RUNS[format](whole(listed), question, sink)
        return 0
    spans, logs = _stored(listed)
    if format == "otlp" and output is not None:
        _folder(spans, logs, output)
        return 0
    with _sink(output) as sink:
        _TRACES[format](spans, logs, sink)
    return 0


def _stored(listed: Listed) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The spans and log records of the traces of these runs."""
    import polars as pl

    question = listed.question
    if not listed.full:
        from otelcov.sums import texts

        return texts.rows_of(listed.rows, question.store, question.config)
    from otelcov.store import scan

    hexes = listed.rows.select(pl.col("trace_ids").explode().unique())
    traces = hexes.select(trace_id=pl.col("trace_ids").str.decode("hex")).lazy()
    rows = scan.read(question.store, question.window, question.config.runs.max_run_ns)
    return tuple(frame.join(traces, on="trace_id", how="semi").collect() for frame in (rows.spans, rows.logs))  # type: ignore[return-value]


@contextmanager
def _sink(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.flush()
    else:
        with output.open("wb") as file:
            yield file


def _lines(runs: Iterator[pl.DataFrame], question: Question, sink: BinaryIO) -> None:
    from otelcov.runs.lines import json_lines

    for some in runs:
        for lines in json_lines(some, question.config):
            sink.write(lines.encode())


def _runs_csv(pieces: Iterator[pl.DataFrame], question: Question, sink: BinaryIO) -> None:
    """One row a run; what is a list is JSON."""
    import polars as pl

    runs = pl.concat(pieces)
    lists = [name for name, kind in runs.schema.items() if kind.is_nested()]
    texts = [
        pl.when(pl.col(name).is_not_null())
        .then(pl.struct(name).struct.json_encode().str.slice(len(name) + 4).str.head(-1))
        .alias(name)
        for name in lists
    ]
    sink.write(_with_side(runs, question).with_columns(texts).write_csv().encode())


def _runs_parquet(runs: Iterator[pl.DataFrame], question: Question, sink: BinaryIO) -> None:
    import polars as pl

    _write_parquet(_with_side(pl.concat(runs), question), sink)


def _with_side(runs: pl.DataFrame, question: Question) -> pl.DataFrame:
    from otelcov.coverage.selection import side_of

    return runs.insert_column(runs.columns.index("environment") + 1, side_of(runs, question.config))


def _otlp_json(spans: pl.DataFrame, logs: pl.DataFrame, sink: BinaryIO) -> None:
    from otelcov.store import documents

    for signal, body in documents.requests(spans, logs):
        sink.write(documents.json_line(signal, body))


def _spans_csv(spans: pl.DataFrame, logs: pl.DataFrame, sink: BinaryIO) -> None:
    from otelcov.store import documents

    sink.write(documents.flat(spans).write_csv().encode())


def _spans_parquet(spans: pl.DataFrame, logs: pl.DataFrame, sink: BinaryIO) -> None:
    from otelcov.store import documents

    _write_parquet(documents.flat(spans), sink)


def _write_parquet(frame: pl.DataFrame, sink: BinaryIO) -> None:
    """Through memory: Parquet is written from its end, and stdout cannot go back."""
    whole = io.BytesIO()
    frame.write_parquet(whole)
    sink.write(whole.getvalue())


def _folder(spans: pl.DataFrame, logs: pl.DataFrame, folder: Path) -> None:
    from otelcov.store import documents

    folder.mkdir(parents=True, exist_ok=True)
    for number, (signal, body) in enumerate(documents.requests(spans, logs), 1):
        (folder / f"{number:05}.{signal}.pb").write_bytes(body)


_RUNS = {"jsonl": _lines, "csv": _runs_csv, "parquet": _runs_parquet}
_TRACES = {"otlp-json": _otlp_json, "csv": _spans_csv, "parquet": _spans_parquet}
