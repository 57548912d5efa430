"""What a text holds beside what it says: turns, a framework's prompt, ReAct's actions."""

from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import Any

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import ROLES, Message, Request, Result
from otelcov.runs.content.jsontext import Value, literal, parse_value
from otelcov.runs.content.messages import messages_of

_TURN = late(r"(?:^|\n)(system|developer|user|human|assistant|ai|model|tool): ")


def transcript(text: str) -> list[Message] | None:
    """`role: text` lines (OpenLIT, older Langfuse) as messages; None where the text does not begin like one."""
    if not re.match(r"(?:system|developer|user|human|assistant): ", text):
        return None
    pieces = _TURN.split(text)
    out: list[Message] = []
    for role, said in zip(pieces[1::2], pieces[2::2], strict=True):
        inner = parse_value(said) if said[:2] in ("[{", "{'", '{"') else None
        if isinstance(inner, (list, dict)):
            out.extend(messages_of(inner, ROLES.get(role, role)))
        elif role == "tool":
            out.append(Message("tool", results=[Result(None, None, said)]))
        else:
            out.append(Message(ROLES.get(role, role), said))
    return out


_EXPECTED = "This is the expected criteria for your final answer:"
_TASK = "Current Task:"
_BEGIN = "\nBegin! This is VERY important"


# What coding agents tell a model beside the user's words: Gemini CLI, Copilot, Codex, Claude Code and its kin.
_ASIDE = late(
    r"\s*<(session_context|current_datetime|environment_context|user_instructions|system-reminder|environment_details)>"
    r"(?:(?!</\1>).)*</\1>\s*",
    re.S,
)


def own_words(text: str | None) -> str | None:
    """What the user said, without the prompt that a framework (CrewAI, Magentic One) wraps around it; None for a prompt
    alone."""
    while text and text.lstrip()[:1] == "<" and (aside := _ASIDE.match(text)) is not None and aside.end() < len(text):
        text = text[aside.end() :]
    if text == "Handle the requests as specified in the System Instruction.":
        return ""  # what Google's ADK sends to a model where the user said nothing
    if text and (text.startswith(_BY_OTHERS) or _SENT_BACK.match(text)):
        return None
    if text and (leads := _LEADS.match(text) or _BROWSED.match(text)) is not None:
        return leads.group("task")
    if text and (marked := _MARVINS.match(text)) is not None:
        return dedent(marked.group("task")).strip()
    return _task(text) if text and (f"\n{_TASK}" in text or _EXPECTED in text) else text


_MARVINS = late(
    r"<task>\n\s*<id>\w+</id>\n\s*<instructions>\n(?P<task>.*?)\n\s*</instructions>\n(?:(?!<task>\n).)*</task>\s*$",
    re.S,
)
"""How Marvin frames what it was asked for its model."""
_SENT_BACK = late(
    r"Your previous response failed .*<pyai:(?:retry_feedback|validation_errors)>"
    r"|Validation feedback:\n.*\n\nFix the errors and try again\.$"
    r"|You must format the previous response as structured output\.$",
    re.S,
)
"""How Pydantic AI and Strands send an answer back."""
_LEADS = late(
    r"(?:Below I will present you a request\.\s(?:(?!\nHere is the ).)*\nHere is the request:\n\n"
    r"|\n?Recall we are working on the following request:\n\n)(?P<task>.*?)\n\n"
    r"(?:Here is the pre-survey:|And we have assembled the following team:)\n",
    re.S,
)
"""What who leads a team of Magentic One (AutoGen, Semantic Kernel, Microsoft's Agent Framework) asks a model."""
_BROWSED = late(
    r"(?:<agent_history>\n(?:(?!</agent_history>\n).)*</agent_history>\n\s*<agent_state>\n)?"
    r"<user_request>\n(?P<task>.*?)\n</user_request>\n.*<browser_state>\n",
    re.S,
)
"""What browser-use asks a model at each step."""
_DECIDE = 'Decide what to do next. Respond with a JSON object of the following format:\n{\n  "terminate":'
"""What who leads a group chat of Microsoft's Agent Framework adds to what was said."""
_BY_OTHERS = (
    _DECIDE,
    "For context:\n[",
    "For context: below is a transcript of what another agent did, quoted between ",
    "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed.",
    "System: Potential loop detected. Details: ",
)
"""How begins what a framework says in the user's name: Google's ADK, of what other agents said, and where a model's
answer comes last; Gemini CLI, where a model repeats itself."""


def _task(text: str) -> str:
    """What CrewAI's prompt gives as the task: all before what is expected of the answer, or after its heading."""
    at = text.find(_EXPECTED)
    while at >= 0:
        before = text[:at].rstrip()
        if "\n" in text[len(before) : at]:
            return before.lstrip().removeprefix(_TASK).strip()
        at = text.find(_EXPECTED, at + 1)
    if text[:1] != "\n" or not text.lstrip("\n").startswith(_TASK):
        return text
    return text.lstrip("\n").removeprefix(_TASK).partition(_BEGIN)[0].strip()


# Possessive where blanks may be many.
_ACTION = late(
    r"^[^\S\n]*+\**Action\**\s*+:\**\s*+(?P<name>[^\n`]++)\n\s*+\**Action Input\**\s*+:\**\s*+(?P<input>.*)",
    re.M | re.S,
)
_FINAL = late(r"Final Answer\s*:\s*(.*)", re.S)
_THOUGHT = late(r"\s*Thought\s*:.*?^Answer\s*:\s*(.*)", re.M | re.S)
"""How LlamaIndex has an answer told."""
_OBSERVATION = late(r"^[^\S\n]*+Observation\s*+:\s*+", re.M)


def react_request(text: str | None) -> Request | None:
    """The call in a text ReAct answer: `Action: name`, `Action Input: {...}` (Yao et al. 2022), or the same two in
    tags or in an object."""
    if not text:
        return None
    if _STEP_IN_TAGS in text or _STEP_IN_OBJECT in text:
        return _framed_request(text)
    if "Action" not in text:
        return None
    hit = _ACTION.search(text)
    if hit is None or hit.group("name").strip().lower() in ("none", "final answer"):
        return None
    body = _OBSERVATION.split(hit.group("input"), maxsplit=1)[0].strip().strip("`").strip()
    return Request(None, hit.group("name").strip(), body)


_STEP_IN_TAGS, _STEP_IN_OBJECT = "<action_input>", '"action_input"'
_TAGS = late(r"<action>([^<>]{1,300})</action>\s*+<action_input>(.*?)</action_input>", re.S)
_ANSWERED = late(r"(?:```(?:xml)?\s*+)?<output>\s*+<thought>.*?</thought>\s*+<answer>(.*?)</answer>", re.S)
_END = "</answer>"
"""How Dynamiq has a step told in tags, and an answer, and how that ends."""
_OF_A_STEP = {"thought", "action", "action_input", "output_files"}
_AT_LAST = ("finish", "Final Answer")
"""What Dynamiq and LangChain's structured chat have a model say for an answer, in an object."""


def _framed_request(text: str) -> Request | None:
    hit = _TAGS.search(text, 0, text.rfind("</action_input>") + len("</action_input>"))
    if hit is not None:
        return Request(None, hit.group(1).strip(), hit.group(2).strip())
    step = _step(text)
    if step is None or step["action"] in _AT_LAST:
        return None
    given = step["action_input"]
    return Request(None, step["action"], given if isinstance(given, str) else json.dumps(given))


def _step(text: str) -> dict[str, Any] | None:
    """The step that an object tells: what to run, by its name, and what to give it."""
    told = parse_value(text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip())
    if not isinstance(told, dict) or not {"action", "action_input"} <= told.keys() <= _OF_A_STEP:
        return None
    return told if isinstance(told["action"], str) else None


def _in_tags(text: str) -> str | None:
    hit = _ANSWERED.match(text, 0, text.rfind(_END) + len(_END))
    return None if hit is None else hit.group(1).strip()


def framed(text: str | None) -> bool:
    """Do these words stand in the frame that DSPy puts around the fields of its prompts and answers?"""
    return text is not None and text.lstrip().startswith("[[ ## ")


def final_answer(text: str | None) -> str | None:
    """The answer proper of a ReAct text, of code that hands it in, or of who leads a group chat; else the text."""
    if text and _STEP_IN_OBJECT in text and (step := _step(text)) is not None and step["action"] in _AT_LAST:
        given = step["action_input"]
        return given if isinstance(given, str) else json.dumps(given)
    if text and "<answer>" in text and (answer := _in_tags(text.strip())) is not None:
        return answer
    if text and "final_message" in text[:_DECISION]:
        told = parse_value(text)
        if isinstance(told, dict) and told.keys() == _DECIDED:
            return told["final_message"] if told["terminate"] is True else None
    if text and text[:1] == "{" and '"action"' in text and (acts := browsing(text)) is not None:
        done = acts[-1].get("done") if acts else None
        said = done.get("text") if isinstance(done, dict) else None
        return said if isinstance(said, str) else None
    if text and "final_answer(" in text and (code := _CODE.search(text)) is not None:
        return _handed_in(code.group(1))
    hit = _FINAL.search(text) if text and "Final Answer" in text else None
    if hit is None and text and text.startswith("Thought"):
        hit = _THOUGHT.match(text)
    return hit.group(1).strip() if hit else text


def browsing(text: str) -> list[dict[str, Value]] | None:
    """What an answer wants done in a browser (browser-use), if it is one of these."""
    told = parse_value(text)
    if not isinstance(told, dict) or not {"action", "memory"} <= told.keys() <= _BROWSING:
        return None
    acts = told["action"]
    whole = isinstance(acts, list) and all(isinstance(act, dict) and len(act) == 1 for act in acts)
    return acts if whole else None


_BROWSING = {
    *("action", "thinking", "evaluation_previous_goal", "memory", "next_goal"),
    *("current_plan_item", "plan_update", "current_state"),
}
_DECIDED = {"terminate", "reason", "next_speaker", "final_message"}
_DECISION = 4096  # letters, at the most, before it says what is answered


def acts_by_code(text: str | None) -> bool:
    """Does an answer of smolagents' hold code to be run that hands no answer in?"""
    return bool(text) and "final_answer(" not in str(text) and _CODE.search(str(text)) is not None


def _handed_in(code: str) -> str | None:
    """The text that code hands in as the answer (smolagents), where it stands in it."""
    handed = _HANDED_IN.search(code)
    try:
        value = literal(handed.group(1)) if handed is not None else None
    except ValueError:
        return None
    return value if isinstance(value, str) else None


_CODE = late(r"(?:<code>|```py(?:thon)?\s)\s*(.*?)\s*(?:</code>|```|\Z)", re.S)
_HANDED_IN = late(r"""^final_answer\(\s*(?:answer\s*=\s*)?("[^"\n]*"|'[^'\n]*')\s*\)\s*\Z""", re.M)
