"""Why an agent ended, as events of its span tell."""

from __future__ import annotations

from otelcov.dialects.base import AGENT
from otelcov.runs.content.exchanges import DETAILS
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.trace.tree import Node


def reasons_told(agent: Node) -> list[str]:
    found = list[str]()
    for name, told in agent.side.events.get(agent.span.row, ()) if agent.kind == AGENT else ():
        if name == "gen_ai.choice":
            found.append(str(told.get("finish_reason")))
        elif name == DETAILS:
            said = parse_json(told.get("gen_ai.output.messages"))
            found += (
                [str(x.get("finish_reason")) for x in said if isinstance(x, dict)] if isinstance(said, list) else []
            )
    return found
