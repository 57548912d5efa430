"""The snapshot as JSON (schema: snapshot.schema.json). Equal input gives equal bytes."""

from __future__ import annotations

import json
from typing import Any

from otelcov.report import Report


def render(report: Report) -> str:
    return dump(report.as_json())


def dump(document: Any) -> str:
    """JSON in the order of the document; lone surrogates and control characters are escaped."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode() if _lone(text) else text


def _lone(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)
