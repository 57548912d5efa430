"""Models that judge an answer once it was given: what they say is no answer to the user."""

from __future__ import annotations

import re

from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.llm.model_call import ModelCall


def without_verdicts(calls: list[ModelCall]) -> list[ModelCall]:
    """The model calls of a run that do not end it with a verdict on what was said before."""
    while len(calls) > 1 and _judges(calls[-1], calls[:-1]):
        calls = calls[:-1]
    return calls


def _judges(call: ModelCall, before: list[ModelCall]) -> bool:
    """Was this asked to judge, in these words, the answer that came last before it, and did it give a verdict? One that
    is asked to work an answer over gives another."""
    if call.requests or (not _VERDICT.match(verdict := _plain(call.text or "")) and not _verdict(verdict)):
        return False
    said = next((c.text for c in reversed(before) if c.text and not c.requests and not _verdict(_plain(c.text))), None)
    if said is None or len(said) < _SHORTEST:
        return False
    told = "\n".join(x.text for x in call.inputs or () if x.text and x.role in ("system", "user"))
    return said.strip() in told and _JUDGE.search(told) is not None


def _plain(text: str) -> str:
    """Without the fence around JSON."""
    hit = _FENCED.match(text.strip())
    return hit.group(1) if hit is not None else text.strip()


def _verdict(text: str) -> bool:
    """Is this an object that holds a score or the like?"""
    value = parse_json(text) if text[:1] == "{" else None
    return isinstance(value, dict) and any(_SCORES.match(key) for key in value)


_SHORTEST = 8  # letters of an answer that are found again in a prompt by no chance
_FENCED = late(r"```(?:json)?\s*(.*?)\s*```\Z", re.S)
_JUDGE = late(r"\b(?:judg\w+|evaluat\w+|grad(?:e|er|ing)|scor(?:e|ing)|rat(?:e|ing)|rubric|assess\w*)\b", re.I)
_SCORES = late(r"(?:\w+_)?(?:score|rating|grade|verdict|passed|is_correct|correctness)$", re.I)
_VERDICT = late(
    r"(?:\*\*)?(?:(?:score|rating|grade|verdict)\W*)?(?:\d{1,3}(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?|yes|no|pass(?:ed)?"
    r"|fail(?:ed)?|correct|incorrect|true|false)\W*\Z",
    re.I,
)
