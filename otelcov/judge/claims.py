"""What an answer claims to have done, read from its words, against what the trace shows.

Only plain statements of a finished action by the agent are claims ("I've booked …", "your order has been cancelled"),
and only for actions that a known tool is named after: that "book" is an action of this agent follows from the tool
`book_hotel`. Offers, questions, conditions and negations are none. Claims and calls are paired at least cost, so that
two bookings told in another order than they were made contradict nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from otelcov.judge.matching import assign
from otelcov.judge.turns import Call

_VERBS = {
    "book": ("booked",),
    "cancel": ("cancelled", "canceled"),
    "send": ("sent",),
    "delete": ("deleted",),
    "remove": ("removed",),
    "create": ("created",),
    "update": ("updated",),
    "modify": ("modified",),
    "change": ("changed",),
    "refund": ("refunded",),
    "return": ("returned",),
    "exchange": ("exchanged",),
    "transfer": ("transferred",),
    "order": ("ordered",),
    "purchase": ("purchased",),
    "buy": ("bought",),
    "pay": ("paid",),
    "schedule": ("scheduled",),
    "reschedule": ("rescheduled",),
    "reset": ("reset",),
    "enable": ("enabled",),
    "disable": ("disabled",),
    "suspend": ("suspended",),
    "resume": ("resumed",),
    "activate": ("activated",),
    "deactivate": ("deactivated",),
    "refuel": ("refueled", "refuelled"),
    "submit": ("submitted",),
    "upload": ("uploaded",),
    "register": ("registered",),
    "subscribe": ("subscribed",),
    "unsubscribe": ("unsubscribed",),
    "reserve": ("reserved",),
    "add": ("added",),
    "save": ("saved",),
    "store": ("stored",),
    "approve": ("approved",),
    "reject": ("rejected",),
    "post": ("posted",),
    "publish": ("published",),
    "close": ("closed",),
    "merge": ("merged",),
    "deploy": ("deployed",),
    "assign": ("assigned",),
    "rename": ("renamed",),
    "move": ("moved",),
    "archive": ("archived",),
    "drop": ("dropped",),
    "terminate": ("terminated",),
    "revoke": ("revoked",),
}
_STEM = {form: verb for verb, forms in _VERBS.items() for form in forms}
_FORMS = "|".join(sorted(_STEM, key=len, reverse=True))
_CLAIM = re.compile(
    rf"\b(?:(?:I|we)(?:'ve|\s+have|\s+just|\s+already|\s+successfully)*\s+(?P<active>{_FORMS})\b"
    rf"|(?:has|have)\s+(?:now\s+|just\s+|already\s+)?been\s+(?:successfully\s+)?(?P<passive>{_FORMS})\b"
    rf"|\bsuccessfully\s+(?P<adverb>{_FORMS})\b)",
    re.I,
)
_DOUBT = re.compile(
    r"\b(?:if|once|when|unless|whether|would|could|can|will|may|might|should|must|not|never|cannot|unable|fail(?:ed|s)?|"
    r"error|sorry|unfortunately|previously|earlier|yesterday|already|before|after|until|you(?:'ve|\s+have)?|"
    r"n't)\b|n't\b|\?",
    re.I,
)
_FAILURE = re.compile(
    r"\b(?:fail\w*|errors?|unable|cannot|can'?t|couldn'?t|not|sorry|unfortunately|problem|issue|"
    r"trouble|unavailable|un\w*successful|try again|denied|rejected|down|timed out|no\b)",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NEAR = 500  # characters of a sentence before and after a claim that are looked at
_MOST = 100  # claims of an action, and calls for it, that are paired
_NUMBER = r"(?<![\w.,-])(\d+(?:\.\d+)?)"


@dataclass(frozen=True)
class Claim:
    verb: str
    sentence: str


def claims(answer: str) -> Iterator[Claim]:
    """The finished actions that an answer claims."""
    for sentence in _SENTENCE.split(_straight(answer)):
        for hit in _CLAIM.finditer(sentence):
            form = (hit["active"] or hit["passive"] or hit["adverb"]).lower()
            before = sentence[max(0, hit.start() - _NEAR) : hit.start()]
            after = sentence[hit.end() : hit.end() + _NEAR]
            if hit["passive"] and re.search(r"\byou\b", before, re.I):
                continue
            if not _DOUBT.search(_clause(before + after, len(before))):
                yield Claim(_STEM[form], f"{before}{hit[0]}{after}".strip())


def _clause(text: str, at: int) -> str:
    """The words around the claim, up to the next comma or dash that is far enough to be another matter."""
    start = max(text.rfind(mark, 0, at) for mark in (",", ";", ":", " - ", "—", "("))
    return text[max(0, start) : at + 40]


def admits_failure(answer: str) -> bool:
    return _FAILURE.search(_straight(answer)) is not None


def claims_success(answer: str) -> bool:
    """A plain statement that it worked, with no word of trouble anywhere."""
    if admits_failure(answer):
        return False
    return (
        next(claims(answer), None) is not None
        or re.search(
            r"\bsuccess(?:ful|fully)?\b|\b(?:is|are)\s+(?:now\s+)?confirmed\b|\ball (?:done|set)\b|^\s*done\b|"
            rf"\b(?:is|are)\s+(?:now\s+)?(?:{_FORMS})\b|^\s*(?:{_FORMS})\b",
            answer,
            re.I,
        )
        is not None
    )


def _straight(text: str) -> str:
    return text.replace("\u2019", "'")


def actions(name: str) -> set[str]:
    """The actions that a tool is named after: `book_hotel` and `bookHotel` book."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return {w.lower() for w in words} & set(_VERBS)


def told(name: str, answer: str) -> bool:
    """Does an answer speak of what this tool does at all?"""
    words = {w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name) if len(w) > 2}
    forms = {form for w in words for form in (w, *_VERBS.get(w, ()))}
    return any(re.search(rf"\b{re.escape(form)}", answer, re.I) for form in forms)


@dataclass(frozen=True)
class Mismatch:
    claim: Claim
    call: Call
    argument: str
    said: str


def mismatches(found: Sequence[Claim], calls: Sequence[Call]) -> list[Mismatch]:
    """Claims whose numbers contradict the call they are paired with: "3 nights" and `nights=2`."""
    out: list[Mismatch] = []
    for verb in sorted({claim.verb for claim in found}):
        mine = [claim for claim in found if claim.verb == verb]
        theirs = [call for call in calls if verb in actions(call.name) and call.arguments is not None]
        if not mine or not theirs or max(len(mine), len(theirs)) > _MOST:
            continue
        table = [[list(_contradictions(claim, call)) for call in theirs] for claim in mine]
        for row, column in assign([[float(len(cell)) for cell in line] for line in table]):
            out += table[row][column]
    return out


def _contradictions(claim: Claim, call: Call) -> Iterable[Mismatch]:
    for key, value in (call.arguments or {}).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        noun = re.escape(key.lower().rstrip("s").split("_")[-1])
        if len(noun) < 3:
            continue
        said = re.findall(rf"{_NUMBER}[\s-]{noun}s?\b", claim.sentence, re.I)
        if said and all(float(number) != value for number in said):
            yield Mismatch(claim, call, key, said[0])
