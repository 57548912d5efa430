"""The ways in which a model hands in its answer: tools by their look, and nobody's tools.

Some frameworks give such a way a name of their own. Others name it after what is wanted, so it looks like any tool;
then it is known by what became of it: the framework's words in place of a result, or an agent that put out just what
the model had put in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from otelcov.dialects.base import AGENT, CHAIN, LLM
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Request
from otelcov.runs.content.jsontext import parse_json, to_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import needs_descriptions, of_adk
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node, failure

_NAMES = (
    "final_answer",  # smolagents, BeeAI
    "final_result",  # pydantic-ai
    "StructuredOutput",  # Claude
    "strands_structured_output",
    "set_model_response",  # Google's ADK
    "provide_final_answer",  # Dynamiq
)
_WORDS = late(
    r"Returning structured response: "
    r"|(?:Error: )?Failed to parse structured output for tool '"
    r"|(?:Error: )?Model incorrectly returned multiple structured responses \("
    r"|Final result processed\.$"  # pydantic-ai
    r"|Output tool not used - "
    r"|Validation Error found:\n"  # instructor
)
_VALIDATED = late(r'(?:\[\{"text": ")?Successfully validated \S+ structured output(?:$|")')
"""Strands' word for the same; alone, where OpenInference tells it."""
_RETURNED = "Returning structured response: "
"""LangChain's word that a tool was one, which some tell as the answer of the agent (LoongSuite)."""
_STATE = ("structured_response", "structuredResponse")
"""Where a graph of LangChain's keeps what was handed in."""
_FRAMES = ("answer", "response")
"""What frameworks call an answer that is no object (smolagents; BeeAI, pydantic-ai)."""
_FINAL = late(r"final_|provide_final_answer$")
_MARKED = late(r"MarkTaskSuccessful_\w+$")
"""Ways to say that a task is done, with its result (Marvin)."""
_BESIDE = ("thought", "output_files")
"""What Dynamiq has a model say beside its answer."""
_DEPTH = 4


def is_answer(tool: str | None) -> bool:
    """Does the name alone tell? `final_result_X` where an agent of pydantic-ai may answer in several forms."""
    return tool is not None and (tool in _NAMES or tool.startswith("final_result_"))


def ways_to_answer(calls: Iterable[ToolCall], told: Collection[str]) -> frozenset[str]:
    """The names by which the models of a run handed in an answer; of some, definitions have `told`."""
    opened: dict[int, list[dict[str, Any]]] = {}
    calls = list(calls)
    found = {c.name for c in calls if c.name is not None and (is_answer(c.name) or _handed_in(c, opened))}
    left = [c for c in calls if c.name not in found and not c.nodes and c.answer is None]
    wanted = {c.name for c in left if c.asked_by is not None and _had_to(c.asked_by, c.name)}
    wanted.difference_update(c.name for c in calls if c.nodes or c.answer is not None)
    found.update(name for name in wanted if name is not None)
    return frozenset(found.union(told))


def _handed_in(call: ToolCall, opened: dict[int, list[dict[str, Any]]]) -> bool:
    if call.nodes:
        if call.name == "finish_task" and of_adk(call.nodes[0].span.scope):  # by which an agent ends a task of its own
            return True
        return _validated(call.nodes[0])
    if call.asked_by is None:
        return False
    if call.answer is not None:
        return isinstance(call.answer.content, str) and _WORDS.match(call.answer.content) is not None
    put_in = arguments_of(call.arguments)[0]
    if not put_in:
        return False
    around = _around(call.asked_by)
    if _asked_for_one(call.asked_by) and any(_taken(node, put_in) or _ended_with(node, call) for node in around):
        return True
    for node in around:
        if id(node) not in opened:
            opened[id(node)] = _put_out(node)
        if any(_same(put_in, put_out) for put_out in opened[id(node)]):
            return True
    return False


def _validated(node: Node) -> bool:
    """Does Strands say that what it ran as a tool was the answer?"""
    told = [node.span.result, *(e.get("message") for _, e in node.side.events.get(node.span.row, ()))]
    return any(isinstance(text, str) and _VALIDATED.match(text) is not None for text in told)


def _asked_for_one(call: ModelCall) -> bool:
    left = (r for r in call.asked if r.served is None)
    return next(left, None) is not None and next(left, None) is None


def _returned(node: Node) -> bool:
    raw = node.span.output or ""
    return _RETURNED in raw and any(says_returned(message.text) for message in messages_of(raw, "assistant"))


def _taken(node: Node, put_in: dict[str, Any]) -> bool:
    """Does LangChain's word in place of a result tell that, or a state that holds this, in print?"""
    return _returned(node) or _prints(_kept(_value(node)), put_in)


def _prints(text: Any, put_in: dict[str, Any]) -> bool:
    """Is this the object that was put in, as Python prints one of a class (LangChain's state under ddtrace)?"""
    return isinstance(text, str) and all(f"{key}={told!r}" in text for key, told in put_in.items())


def _ended_with(node: Node, call: ToolCall) -> bool:
    """Did an agent of LangChain's that cannot wait, as it keeps no thread, end well with this call as its last word?
    Where it keeps one, a form is known by that nobody described it, as tools are. Forms are offered after all tools."""
    if node.kind != AGENT or not needs_descriptions(node.span.scope) or node.orphan or failure(node) is not None:
        return False
    put_out = [r for m in messages_of(node.span.output_messages or "", "assistant") for r in m.requests]
    offered = parse_json(call.asked_by.node.definitions) if call.asked_by is not None else None
    last = offered[-1] if isinstance(offered, list) and offered else None
    if [r.id for r in put_out] != [call.call_id] or not isinstance(last, dict) or last.get("name") != call.name:
        return False
    return node.span.conversation is None or last.get("description") == ""


def says_returned(text: str | None) -> bool:
    """Is this what a framework says in place of an answer that was handed in?"""
    return text is not None and text.startswith(_RETURNED)


def _had_to(asker: ModelCall, name: str | None) -> bool:
    """Was this the only tool, and the model made to call it, by its name? So clients ask for an object (instructor,
    LangChain's `with_structured_output`)."""
    for raw in (n.input_messages for n in asker.layers):
        request = parse_json(raw) if raw and '"tool_choice"' in raw else None
        if not isinstance(request, dict):
            continue
        tools, choice = request.get("tools"), request.get("tool_choice")
        if isinstance(tools, list) and len(tools) == 1 and isinstance(choice, dict):
            inner = choice.get("function")
            return name == (inner.get("name") if isinstance(inner, dict) else choice.get("name"))
    return False


def _around(asker: ModelCall) -> list[Node]:
    """What holds a model call, out to its agent."""
    out: list[Node] = []
    for node in asker.node.ancestors():
        if node.kind == LLM:
            continue  # another layer of it
        if node.kind not in (AGENT, CHAIN, None):
            break
        out.append(node)
        if node.kind == AGENT:
            break
    return out


def _put_out(node: Node) -> list[dict[str, Any]]:
    """The objects that this put out: all that it did, or what a state holds as the answer."""
    value = _value(node)
    return [v for v in (value, _kept(value)) if isinstance(v, dict)]


def _value(node: Node) -> Any:
    raw = node.span.output
    return parse_json(raw) if raw and raw[0] in "[{" else None


def _same(put_in: dict[str, Any], put_out: dict[str, Any]) -> bool:
    """Is this what was put in? What was left out has its default."""
    return all(key in put_out and put_out[key] == told for key, told in put_in.items())


def _kept(value: Any, depth: int = 0) -> Any:
    """What the state of a graph holds as the answer."""
    if depth > _DEPTH:
        return None
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        hit = next((value[key] for key in _STATE if value.get(key) is not None), None)
        if hit is not None:
            return hit
        inner = [value.get(key) for key in ("outputs", "output", "update")]
    elif isinstance(value, list):
        inner = value[:_DEPTH]
    return next((hit for v in inner if (hit := _kept(v, depth + 1)) is not None), None)


def answer_put_out(root: Node, last: ModelCall, ways: Collection[str]) -> str | None:
    """The object that a run put out, if its model handed in its answer as one: JSON."""
    handed = _handed(last, ways)
    if not handed or root.kind == LLM or root.end < last.start:  # a step of one whose frame is lost
        return None
    value = _value(root)
    put_in = [found for r in handed if (found := arguments_of(r.arguments)[0]) is not None]
    kept = _kept(value)
    if kept is not None and not any(_prints(kept, one) for one in put_in if one):
        return to_json(kept) if isinstance(kept, (dict, list)) else str(kept)
    same = isinstance(value, dict) and any(_same(one, value) for one in put_in if one)
    if kept is not None:
        return to_json(put_in[-1])
    if same and _marks(handed[-1], value):
        return _as_text(value["result"])
    inside = any(list(one.values()) == [value] for one in put_in)  # what is no object is put in as the one in an object
    return root.span.output if same or inside or (value and not _messages(value)) else None


def _messages(value: Any) -> bool:
    return isinstance(value, (dict, list)) and bool(messages_of(value))


def answer_put_in(root: Node, last: ModelCall, ways: Collection[str]) -> str | None:
    """What the model handed in at last, where the run did not fail over it."""
    handed = _handed(last, ways)
    if not handed or root.kind == LLM or root.orphan or failure(root) is not None:
        return None
    put_in = arguments_of(handed[-1].arguments)[0]
    if not put_in:
        return None
    if _marks(handed[-1], put_in):
        return _as_text(put_in["result"])
    framed = _FINAL.match(handed[-1].name or "") is not None  # others have what a schema says
    alone = next((put_in[key] for key in _FRAMES if framed and {key} <= put_in.keys() <= {key, *_BESIDE}), None)
    return alone if isinstance(alone, str) else to_json(put_in)


def _marks(request: Request, told: dict[str, Any]) -> bool:
    return told.keys() == {"result"} and _MARKED.match(request.name or "") is not None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def _handed(last: ModelCall, ways: Collection[str]) -> list[Request]:
    return [r for r in last.requests if r.name in ways]
