"""Why an agent or a model's call ended, as events of its span tell."""

from __future__ import annotations

from otelcov.dialects.base import AGENT, LLM
from otelcov.runs.content.exchanges import DETAILS
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import called_off
from otelcov.runs.trace.tree import Node


def reasons_told(node: Node) -> list[str]:
    """Each as it was told, of an agent or a model's call."""
    found = list[str]()
    for name, told in node.side.events.get(node.span.row, ()) if node.kind in (AGENT, LLM) else ():
        if name == "gen_ai.choice":
            found.append(str(told.get("finish_reason")))
        elif name == DETAILS:
            raw = told.get("gen_ai.output.messages")
            said = parse_json(raw) if isinstance(raw, str) else raw
            found += (
                [str(x.get("finish_reason")) for x in said if isinstance(x, dict)] if isinstance(said, list) else []
            )
    return found


def cut_off(call: ModelCall) -> bool:
    """Does a layer of this say that it was called off? Others may tell what came of a stream until then."""
    return called_off(call.finish) or any(called_off(why) for n in call.layers for why in reasons_told(n))
