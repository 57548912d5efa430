"""OTLP files as requests: protobuf, JSON and JSON lines, each also gzipped.

A JSON document says by its top-level keys what it holds; protobuf does not say, so there it is logs if the file's own
name contains "logs", else traces. A `.json` file may hold one document or, as the OpenTelemetry Collector's file
exporter writes them, one a line.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from otelcov.ground.errors import UsageError

SUFFIXES = (".pb", ".binpb", ".json", ".jsonl")
_MARK = b"\xef\xbb\xbf"  # by which some editors and shells say that a text is UTF-8
_LARGEST = 1 << 30  # bytes of one file or line after inflation


@dataclass(frozen=True)
class Request:
    """One request of a file, as protobuf."""

    signal: Literal["traces", "logs"]
    body: bytes


class NotOtlp(ValueError):
    """What a file, or one line of it, is instead."""


def find(paths: Iterable[Path]) -> list[Path]:
    """The files to read: named ones as they are, those of folders in order of their full path."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (p for p in path.rglob("*") if p.is_file() and _kind(p))
            found += sorted(inside, key=lambda p: str(p.absolute()))
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"Couldn't find {path}. Give OTLP files, or folders of them.")
    return found


def requests(path: Path) -> Iterator[Request | Literal["metrics"] | NotOtlp]:
    """What a file holds, one by one; what is no OTLP is told and skipped."""
    kind = _kind(path)
    try:
        if kind is None:
            yield NotOtlp(f"its name ends in none of {', '.join(SUFFIXES)}, nor in one of these and .gz")
        elif kind in (".pb", ".binpb"):
            yield from _protobuf(path)
        else:
            yield from _json(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield NotOtlp(f"it cannot be unpacked: {error}")
    except OSError as error:
        yield NotOtlp(f"it cannot be read: {error.strerror or error}")


def _protobuf(path: Path) -> Iterator[Request | NotOtlp]:
    body = _whole(path)
    if not body:
        yield NotOtlp("it is empty")
    else:
        yield Request("logs" if "logs" in path.name.lower() else "traces", body)


def _json(path: Path) -> Iterator[Request | Literal["metrics"] | NotOtlp]:
    from collector import otlp_json

    if _kind(path) == ".json":
        try:
            document = otlp_json.loads(_whole(path).removeprefix(_MARK))
        except otlp_json.BadJson as error:
            one = error  # perhaps one document a line
        else:
            yield from _documents(document)
            return
    else:
        one = None
    empty = True
    for number, line in enumerate(_lines(path), 1):
        empty = False
        try:
            document = otlp_json.loads(line)
        except otlp_json.BadJson as error:
            if number == 1 and one is not None:
                yield NotOtlp(str(one))
                return
            yield NotOtlp(f"line {number}: {error}")
            continue
        for request in _documents(document):
            yield NotOtlp(f"line {number}: {request}") if isinstance(request, NotOtlp) else request
    if empty:
        yield NotOtlp("it is empty")


def _documents(document: Any) -> Iterator[Request | Literal["metrics"] | NotOtlp]:
    from collector import otlp_json

    keys = document.keys() if isinstance(document, dict) else ()
    if not {"resourceSpans", "resourceLogs", "resourceMetrics"} & set(keys):
        yield NotOtlp("no resourceSpans, resourceLogs or resourceMetrics at its top")
    signals: dict[str, Literal["traces", "logs"]] = {"resourceSpans": "traces", "resourceLogs": "logs"}
    for key, signal in signals.items():
        if key in keys:
            try:
                yield Request(signal, otlp_json.convert(signal, document))
            except otlp_json.BadJson as error:
                yield NotOtlp(str(error))
    if "resourceMetrics" in keys:
        yield "metrics"


def _kind(path: Path) -> str | None:
    name = path.name.lower().removesuffix(".gz")
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), None)


def _open(path: Path) -> Any:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


def _whole(path: Path) -> bytes:
    with _open(path) as file:
        body: bytes = file.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise OSError(f"larger than {_LARGEST >> 20} MiB; split it")
    return body


def _lines(path: Path) -> Iterator[bytes]:
    with _open(path) as file:
        while line := file.readline(_LARGEST + 1):
            if len(line) > _LARGEST:
                raise OSError(f"a line is longer than {_LARGEST >> 20} MiB; split it")
            if line.strip():
                yield line.removeprefix(_MARK)
