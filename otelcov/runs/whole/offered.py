"""Which tools a run could have called: the definitions that its spans carry."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from otelcov.dialects.base import LLM
from otelcov.ground.patterns import late
from otelcov.runs.agents.delegation import COWORKER, HANDS_OVER
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.tools.handed_in import is_answer
from otelcov.runs.trace.tree import Node, spelling

_cache: dict[str, frozenset[str]] = {}


def offered(nodes: list[Node]) -> set[str] | None:
    """Names of all tools that any step of the run was offered; None where no span says."""
    found: set[str] = set()
    told = False
    for node in nodes:
        raw = node.definitions
        if raw:
            names = _names(raw)
            if names is not None:
                found |= names
                told = told or bool(names)
        pairs = node.side.families["flat_tools"].get(node.span.row)
        if pairs:
            flat = dict(pairs)
            for path, value in pairs:
                if path.endswith("json_schema") and isinstance(value, str):
                    names = _names(value)
                    if names:
                        found |= names
                        told = True
                    elif names is not None and parse_json(value) is None:
                        return None  # cut before its name
                elif re.fullmatch(r"\d+\.name", path) and isinstance(value, str):
                    said = flat.get(path.removesuffix("name") + "description")
                    found |= {value} if not (_no_tool(value) or _hands_over(value, said)) else set()
                    told = told or bool(found)
    return found if told else None


def told_to_answer(nodes: list[Node]) -> set[str]:
    """Names of the ways to hand in an answer, where definitions tell them apart from tools."""
    models = [n for n in nodes if n.kind == LLM]
    texts = {n.definitions for n in models}
    for n in models:
        pairs = n.side.families["flat_tools"].get(n.span.row) or ()
        texts.update(value for _, value in pairs if isinstance(value, str) and _EXTRACTED in value)
    return {name for raw in texts if raw for name in _to_answer(raw)}


def tells_of_answers(raw: str) -> bool:
    """Do these definitions tell ways to hand in an answer apart from tools?"""
    return bool(_to_answer(raw))


@lru_cache(maxsize=4096)
def _to_answer(raw: str) -> frozenset[str]:
    extracted = re.findall(rf"{_EXTRACTED} `([^`]+)` with all the required parameters with correct types", raw)
    if extracted:
        return frozenset(extracted)
    value = parse_json(raw) if '"output_tools"' in raw else None  # pydantic-ai
    told = value.get("output_tools") if isinstance(value, dict) else None
    return frozenset(_walk(told, 0)) if isinstance(told, list) else frozenset()


_EXTRACTED = "Correctly extracted"
"""How instructor describes the object that it wants, where its class does not say it."""


def names_of(texts: list[str]) -> set[str] | None:
    """Names in these definitions; None where there are none."""
    found = {n for raw in texts for n in (_names(raw) or ())}
    return found or None


def _names(raw: str) -> frozenset[str] | None:
    known = _cache.get(raw)
    if known is None:
        if len(_cache) > 4096:
            _cache.clear()
        value = parse_json(raw)
        cut = _CUT.match(raw) if value is None else None
        found = {cut.group(1)} if cut is not None else _walk(value, 0)
        known = _cache[raw] = frozenset(n for n in found if not _no_tool(n))
    return known


_CUT = late(r'\s*\{\s*(?:"type":\s*"function",\s*)?(?:"function":\s*\{\s*)?"name":\s*"([^"\\]+)"')
"""The one definition that a text begins with whose end was cut off."""


def _no_tool(name: str) -> bool:
    """A way to another agent, or to hand in the answer."""
    return is_answer(name) or spelling(name) in COWORKER or spelling(name) in HANDS_OVER


def _hands_over(name: str, description: object) -> bool:
    """Do its name and what is said of it (OpenAI's Agents SDK, LangGraph's supervisors, LlamaIndex) tell a way
    to another agent, also where that agent never worked?"""
    said = isinstance(description, str) and _HANDS_OVER.match(description) is not None
    return said and (transfers(name) is not None or spelling(name) == "handoff")


_HANDS_OVER = late(r"Hand-?\s?off to |Transfer(?: control)? to |Ask agent |Useful for handing off to another ", re.I)


def _walk(value: Any, depth: int) -> set[str]:
    if depth > 8:
        return set()
    if isinstance(value, str):
        inner = parse_json(value) if value[:1] in "[{" else None
        return (
            _walk(inner, depth + 1)
            if inner is not None
            else ({value} if re.fullmatch(r"[\w.\-/ ]{1,80}", value) and depth > 0 else set())
        )
    if isinstance(value, list):
        return {n for v in value for n in _walk(v, depth + 1)}
    if not isinstance(value, dict):
        return set()
    for key in ("tools", "function_tools", "functions", "function_declarations", "functionDeclarations", "toolSpec"):
        if isinstance(value.get(key), (list, dict)):
            return _walk(value[key], depth + 1)
    if isinstance(value.get("function"), dict):
        return _walk(value["function"], depth + 1)
    name = value.get("name") or value.get("toolName")
    if isinstance(name, str):
        return set() if _hands_over(name, value.get("description")) else {name}
    for key in ("config", "params", "result", "request", "kwargs", "lc_kwargs", "data"):
        if isinstance(value.get(key), dict):
            inner = _walk(value[key], depth + 1)
            if inner:
                return inner
    if value and all(isinstance(v, dict) for v in value.values()):  # name -> schema
        described = [
            k
            for k, v in value.items()
            if isinstance(v, dict) and ("description" in v or "parameters" in v or "inputSchema" in v)
        ]
        return set(described)
    return set()
