"""The text that a user or an agent said, out of what a span was given or put out, whatever its form."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.prose import final_answer, own_words, react_request
from otelcov.runs.tools.handed_in import is_answer, says_returned

# How a value that is none was written as text; the last two by OpenInference for LangChain4j.
_BRACKETED = late(r'\[(?![\[{"])|\[\[+(?!null|true|false|None|True|False|NaN)[A-Za-z]')
"""How a text begins that is no list, which may be cut: with a word in brackets (`[urgent]`, `[[wiki]]`)."""
_NOTHING = ("null", "None", "undefined", "__end__", "Execution Started", "Execution Completed")
_WRAPPED = (
    "request",
    "task",
    "query",
    "question",
    "prompt",
    "input",
    "message",
    "user_input",
    "user_prompt",
    "new_message",
    "text",
    "content",
    "topic",
)
_ANSWERED = (
    "raw",
    "final_output",
    "final_result",
    "answer",
    "output_text",
    "result",
    "output",
    "response",
    "content",
    "text",
    "message",
)
_OBJECT = late(
    r"<[\w.]+\ (?:object|generator)[^>]*\ at\ 0x"
    r"|[A-Z]\w*\(\w+=.*(?:\)|\.\.\.)$|[A-Z]\w*Event\(\)$"  # LlamaIndex abbreviates its events
    r"|id='[^']*'\ source='.*\ type='\w+'$"  # AutoGen's messages
    r"|\{'_\w+':\ .*=|"  # what an object keeps to itself (MLflow, of pydantic-ai's streams)
    r"[A-Z]\w*[a-z]\w*\.[A-Z][A-Z0-9_]+$",  # a way that a graph goes on (NeMo Agent Toolkit)
    re.S | re.X,
)


def user_text(raw: str | None, limit: int | None) -> str | None:
    """What the user said, from an input attribute in any form."""
    if raw is None or raw in _NOTHING or (limit is not None and len(raw) >= limit):
        return None
    if raw[:1] not in '[{"':
        return own_words(raw)
    value = parse_json(raw)
    if value is None:
        return raw if _BRACKETED.match(raw) else None
    return _said(value)


def _said(value: Any, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return own_words(value)
    if depth > 6:
        return None
    if isinstance(value, dict) and set(value) >= {"args", "kwargs"}:
        if isinstance(value["kwargs"], dict) and value["kwargs"]:
            return _said(value["kwargs"], depth + 1)
        if isinstance(value["args"], list) and value["args"]:
            return _said(value["args"][0], depth + 1)
    if isinstance(value, dict) and _given_first(value) and not any(k in value for k in _WRAPPED):
        return _said(value["args"][0], depth + 1)
    if isinstance(value, dict) and not any(k in value for k in ("messages", "role", "parts", "lc")):
        for key in _WRAPPED:
            if key in value and isinstance(value[key], (str, dict, list)):
                if isinstance(value[key], str):
                    return (
                        value[key]
                        if value[key][:1] not in "[{" or parse_json(value[key]) is None
                        else _said(parse_json(value[key]), depth + 1)
                    )
                found = _said(value[key], depth + 1)
                if found is not None:
                    return found
        if "inputs" in value:
            return _said(value["inputs"], depth + 1)
        strings = [v for v in value.values() if isinstance(v, str)]
        if len(value) == 1 and strings:
            return strings[0]
    if isinstance(value, list) and (not value or _texts_alone(value)):
        return None
    found_messages = messages_of(value)
    return last_user(found_messages)


def _texts_alone(value: Any) -> bool:
    """Are these several texts, of which none is said to be the last word: what several were asked, or answered?"""
    return isinstance(value, list) and len(value) > 1 and all(isinstance(x, str) for x in value)


def _given_first(value: dict[str, Any]) -> bool:
    """Is the first that a function was given by its place a text, and the rest, by name, beside it (Future AGI's)?"""
    given = value.get("args")
    return isinstance(given, list) and bool(given) and isinstance(given[0], str)


def last_user(found: list[Message]) -> str | None:
    """The newest user message before the agent's first own answer of this run."""
    for at in range(len(found) - 1, -1, -1):
        said = own_words(found[at].text) if of_user(found[at]) else None
        if said is not None and not (at and _asks_in_words(found[at - 1])):
            return said
    return None


def _asks_in_words(message: Message) -> bool:
    """Does a model ask for a tool here by text alone? What comes next in the user's name is what came of it, or says
    how to go on (CrewAI)."""
    return message.role == "assistant" and react_request(message.text) is not None


def of_user(message: Message) -> bool:
    return message.role == "user" and not message.results and message.text is not None


def opened(value: Any) -> Any:
    parsed = parse_json(value) if isinstance(value, str) and value[:1] in "[{" else None
    return value if parsed is None else parsed


def assistant_text(raw: str | None, limit: int | None) -> str | None:
    if raw is None or raw in _NOTHING or (limit is not None and len(raw) >= limit):
        return None
    if raw[:1] not in '[{"':
        return final_answer(raw)
    value = parse_json(raw)
    if value is None:
        return raw if _BRACKETED.match(raw) else None
    if isinstance(value, str):
        held = opened(value)  # an event of LlamaIndex's, of which its last tells nothing
        if held == {} or _next_input(held):
            return None
        if not _ended_with(held):
            return final_answer(value)
        value = held
    if isinstance(value, dict) and isinstance(value.get("_store"), dict):
        value = value["_store"]  # a prediction of DSPy's, as Python keeps it
    if _ended_with(value):
        value = value["result"].get("response")
    if _of_agentkit(value):
        value = value["output"]
        if value and isinstance(value[-1], dict) and value[-1].get("type") == "tool_call":
            return None
    if isinstance(value, dict):
        for key in _ANSWERED:
            if isinstance(value.get(key), str):
                return final_answer(str(value[key]))
    if _next_input(value) or _texts_alone(value) or (isinstance(value, dict) and _of_several(value)):
        return None
    found = messages_of(value, "assistant")
    for x in reversed(found):
        if any(not is_answer(r.name) for r in x.requests) or (x.role == "user" and x is not found[-1] and _mute(found)):
            return None
        if x.text is not None and x.role in ("assistant", "user") and not x.results:
            return final_answer(x.text)
    return None


def _ended_with(value: Any) -> TypeGuard[dict[str, Any]]:
    """Is this what an agent of LlamaIndex's ended with, and who it was?"""
    ended = value.get("result") if isinstance(value, dict) else None
    return isinstance(ended, dict) and "current_agent_name" in ended


def _of_agentkit(value: Any) -> TypeGuard[dict[str, Any]]:
    """Is this what one turn of an agent of Inngest's AgentKit came to?"""
    return isinstance(value, dict) and "agentName" in value and isinstance(value.get("output"), list)


def _mute(found: list[Message]) -> bool:
    """Is the last of these an answer without words, so that what was said before it is no answer?"""
    return found[-1].role == "assistant" and found[-1].text is None


def same_object(raw: str | None, said: str) -> bool:
    """Is this the very object or list that a model answered, however it is spaced, and no state that has one?"""
    if raw is None or raw[:1] not in ("{", "[") or said.lstrip()[:1] != raw[:1]:
        return False
    value = parse_json(raw)
    return value is not None and value == parse_json(said)


def other_object(raw: str | None, said: str) -> bool:
    """Is this an object of the keys of one that a model answered, with other values? It was made right, then, or it is
    of an answer that has not come (instructor asks again for what is not valid)."""
    if raw is None or raw[:1] != "{" or said.lstrip()[:1] != "{":
        return False
    value, told = parse_json(raw), parse_json(said)
    same = isinstance(value, dict) and isinstance(told, dict) and bool(told) and value.keys() == told.keys()
    return same and value != told and "messages" not in told


def one_of_several(raw: str | None) -> bool:
    """Is this an object in which something stands beside what an answer may be called by? Either may be the answer."""
    value = parse_json(raw) if raw is not None and raw[:1] == "{" else None
    if not isinstance(value, dict) or len(value) < 2 or "messages" in value:
        return False
    return any(isinstance(value.get(key), str) for key in _ANSWERED)


def _of_several(value: dict[str, Any]) -> bool:
    """Are these the answers of several parts of a pipeline (Haystack), of which none is said to be the last?"""
    parts = [v for v in value.values() if isinstance(v, dict)]
    if len(parts) < 2 or len(parts) < len(value):
        return False
    said = ([x.text for x in messages_of(v, "assistant") if x.role == "assistant" and x.text] for v in parts)
    return len({texts[-1] for texts in said if texts}) > 1


def _next_input(value: Any) -> bool:
    """Is this what the next step of a workflow is given (LlamaIndex)?"""
    if not isinstance(value, dict) or not isinstance(value.get("input"), list):
        return False
    return not any(k in value for k in ("output", "outputs", "messages"))


def answers(text: str | None) -> TypeGuard[str]:
    """Is this an answer, and nothing that stands in place of one?"""
    if text is None or text in _NOTHING or text.startswith(_LOGS):
        return False
    return not object_repr(text) and not says_returned(text)


_LOGS = "Execution logs:\n"
"""What stands before what code of smolagents' printed, which the next step reads."""


def object_repr(text: str) -> bool:
    return _OBJECT.match(text) is not None
