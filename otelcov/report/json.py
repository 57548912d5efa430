"""The snapshot as JSON (schema: snapshot.schema.json). Equal input gives equal bytes."""

from __future__ import annotations

import json
import re
from typing import Any

from otelcov.report import Report

# What a terminal would obey or hide, or UTF-8 cannot hold, is written as an escape: the value is the same.
_HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def render(report: Report) -> str:
    return dump(report.as_json())


def dump(document: Any) -> str:
    """JSON in the order of the document."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n"
