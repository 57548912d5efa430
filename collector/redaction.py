"""What must not reach the disk: attributes to drop or hash, message content, and secrets in well-known forms.

Most requests hold nothing to redact, so the usual path is one scan of the raw bytes for the literals every known
secret begins with (Aho-Corasick with a SIMD prefilter: 5 GB/s) and one precise match at each place found. Only a
request with a real hit, or a config with globs, is taken apart, changed and written anew.

    drop      the attribute is removed
    hash      its value becomes `hmac-sha256:<hex>` (key from the environment), so that equal values stay equal
    content   `drop` or `hash` for what people and models wrote: the attribute names known to carry it, every value
              longer than 256 bytes, and the bodies of log records
    secrets   `[MASKED]` in place of the secret; the text around it stays
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from operator import itemgetter
from typing import Any

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from collector import config as configuration
from collector.config import CollectorConfig

MASK = "[MASKED]"
LONG = 256

_END = rb"(?![A-Za-z0-9])"
# A secret begins where no longer word contains it. The same characters end every open repetition below, so that no text
# makes the scan quadratic.
_START = rb"(?<![A-Za-z0-9_-])"
# (literals of which one begins every match, the form); what the group `keep` holds stays.
_FORMS: list[tuple[tuple[bytes, ...], bytes]] = [
    ((b"sk-",), _START + rb"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    ((b"sk_live_", b"sk_test_", b"rk_live_", b"rk_test_"), _START + rb"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ((b"AKIA", b"ASIA"), _START + rb"A[KS]IA[A-Z0-9]{16}" + _END),
    ((b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), _START + rb"gh[pousr]_[A-Za-z0-9]{36,}"),
    ((b"github_pat_",), _START + rb"github_pat_[A-Za-z0-9_]{22,}"),
    ((b"glpat-",), _START + rb"glpat-[A-Za-z0-9_-]{20,}"),
    ((b"xoxa-", b"xoxb-", b"xoxp-", b"xoxr-", b"xoxs-"), _START + rb"xox[abprs]-[A-Za-z0-9-]{10,}"),
    ((b"AIza",), _START + rb"AIza[A-Za-z0-9_-]{35}"),
    ((b"ya29.",), _START + rb"ya29\.[A-Za-z0-9_-]{20,}"),
    ((b"hf_",), _START + rb"hf_[A-Za-z0-9]{30,}"),
    ((b"npm_",), _START + rb"npm_[A-Za-z0-9]{36}" + _END),
    ((b"pypi-",), _START + rb"pypi-[A-Za-z0-9_-]{50,}"),
    ((b"gsk_", b"xai-", b"tvly-"), _START + rb"(?:gsk_|xai-|tvly-)(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{24,}"),
    ((b"lsv2_",), _START + rb"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    ((b"SG.",), _START + rb"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ((b"eyJ",), _START + rb"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    (
        (b"Bearer ", b"bearer ", b"BEARER "),
        rb"(?P<keep>[Bb][Ee][Aa][Rr][Ee][Rr] +)(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{16,}=*",
    ),
    ((b"Basic ", b"basic "), rb"(?P<keep>[Bb]asic +)(?=[A-Za-z+/]*[0-9=])[A-Za-z0-9+/]{16,}={0,2}"),
    ((b"AccountKey=",), rb"(?P<keep>AccountKey=)[A-Za-z0-9+/]{40,}={0,2}"),
    (
        (b"postgres://", b"postgresql://", b"mysql://", b"mongodb://", b"mongodb+srv://", b"redis://", b"amqp://"),
        rb"(?P<keep>[a-z+]{5,12}://[^\s:/@\"']{0,64}:)[^\s/@\"'<>{}$]{3,128}(?=@)",
    ),
    (
        (b"-----BEGIN ",),
        rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
        rb"(?:(?:[A-Za-z0-9+/=\s\\:,.]|-(?!-)){0,16384}-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?",
    ),
]
_LITERALS = [literal for literals, _ in _FORMS for literal in literals]
_FORM_OF = [re.compile(form) for literals, form in _FORMS for _ in literals]
# Attributes whose whole value is a secret (semantic conventions: HTTP headers as attributes).
_SECRET_KEYS = re.compile(
    r"(?:http\.(?:request|response)\.header|rpc\.\w+\.(?:request|response)\.metadata|header|headers)"
    r"\.(?:authorization|proxy-authorization|cookie|set-cookie|x-api-key|api-key)"
)
_KEY_LITERALS = [b".authorization", b".proxy-authorization", b".cookie", b".set-cookie", b".x-api-key", b".api-key"]

# Names under which the instrumentations of today carry what people and models wrote.
CONTENT = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.prompt*",
    "gen_ai.completion*",
    "gen_ai.*.message.content",
    "gen_ai.event.content",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "input.value",
    "output.value",
    "llm.input_messages.*.content*",
    "llm.output_messages.*.content*",
    "llm.*.arguments",
    "llm.prompts*",
    "llm.completions*",
    "tool.parameters",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "*.arguments",
    "*.content",
    "exception.message",
)


class Redaction:
    """The rules of one config. `apply` is a pure function of the request."""

    def __init__(self, config: CollectorConfig) -> None:
        key = configuration.hash_key(config)
        drop, hashed = list(config.drop), list(config.hash)
        {"keep": [], "drop": drop, "hash": hashed}[config.content].extend(CONTENT)
        self._drop, self._hash = _globs(drop), _globs(hashed)
        self._content = config.content
        self._secrets = config.mask_secrets
        self._takes_apart = bool(drop or hashed)
        self._mac: Callable[[bytes], str] = lambda data: (
            "hmac-sha256:" + hmac.new(key, data, hashlib.sha256).hexdigest()[:32]
        )
        self._actions: dict[str, str] = {}

    def concerns(self, body: bytes) -> bool:
        """Whether the request must be taken apart."""
        return self._takes_apart or (self._secrets and holds_secret(body))

    def apply(self, request: Any) -> int:
        """Redact a parsed request in place; the number of values that changed."""
        return self._message(request)

    def _message(self, message: Any) -> int:
        masked = 0
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                name = field.message_type.name
                if not field.is_repeated:
                    masked += self._body(value) if field.name == "body" else self._message(value)
                elif name == "KeyValue":
                    masked += self._attributes(value)
                else:
                    masked += sum(map(self._message, value))
            elif self._secrets and field.type == field.TYPE_STRING:
                if field.is_repeated:
                    continue
                clean, found = mask(value.encode())
                if found:
                    setattr(message, field.name, clean.decode())
                    masked += found
            elif self._secrets and field.name == "bytes_value":
                clean, found = mask(value)
                if found:
                    setattr(message, field.name, clean)
                    masked += found
        return masked

    def _attributes(self, attributes: Any) -> int:
        masked, kept = 0, []
        for attribute in attributes:
            action = self._action(attribute)
            if action == "drop":
                masked += 1
                continue
            kept.append(attribute)
            if action == "keep":
                masked += self._message(attribute)
                continue
            masked += 1
            text = MASK if action == "mask" else self._digest(attribute.value)
            attribute.value.Clear()
            attribute.value.string_value = text
        if len(kept) < len(attributes):
            copies = [type(item).FromString(item.SerializeToString()) for item in kept]
            del attributes[:]
            attributes.extend(copies)
        return masked

    def _body(self, value: Any) -> int:
        """The body of a log record."""
        if self._content == "keep" or value.WhichOneof("value") is None:
            return self._message(value)
        text = MASK if self._content == "drop" else self._digest(value)
        value.Clear()
        value.string_value = text
        return 1

    def _action(self, attribute: Any) -> str:
        key = attribute.key
        action = self._actions.get(key)
        if action is None:
            if len(self._actions) > 10_000:  # keys are the sender's choice
                self._actions.clear()
            action = self._actions[key] = self._rule(key)
        if action == "keep" and self._content != "keep" and attribute.value.ByteSize() > LONG:
            return self._content
        return action

    def _rule(self, key: str) -> str:
        if self._drop is not None and self._drop(key):
            return "drop"
        if self._hash is not None and self._hash(key):
            return "hash"
        return "mask" if self._secrets and _SECRET_KEYS.fullmatch(key.lower()) else "keep"

    def _digest(self, value: Any) -> str:
        if value.WhichOneof("value") == "string_value":
            return self._mac(value.string_value.encode())
        return self._mac(value.SerializeToString(deterministic=True))


_WINDOW, _LONGEST = 2**20, 32
_ALL = _LITERALS + _KEY_LITERALS
# Two scans of half the literals each take half the time of one of all: so few still fit the SIMD prefilter. Of a length
# or nearly so, since the shortest decides how much of each the prefilter sees.
_BY_LENGTH = sorted(range(len(_ALL)), key=lambda i: len(_ALL[i]))
_PACKS = [_BY_LENGTH[: len(_ALL) // 2], _BY_LENGTH[len(_ALL) // 2 :]]
_SCANS = [(BytesAhoCorasick([_ALL[i] for i in pack], matchkind=MatchKind.LeftmostFirst), pack) for pack in _PACKS]


def holds_secret(body: bytes) -> bool:
    """Whether any known form of a secret is in these bytes."""
    forms = len(_FORM_OF)
    for index, start, end in _hits(body):
        if index < forms:
            if _FORM_OF[index].match(body, start):
                return True
        elif body[end : end + 1] == b"\x12":  # the key of an attribute ends here and its value (field 2) begins
            return True
    return False


def mask(text: bytes) -> tuple[bytes, int]:
    """The text without its secrets, and how many there were."""
    parts, at, found = [], 0, 0
    for index, start, _ in _hits(text):
        if start < at or index >= len(_FORM_OF):
            continue
        match = _FORM_OF[index].match(text, start)
        if match:
            keep = match.end("keep") if "keep" in match.re.groupindex else start
            parts += [text[at:keep], MASK.encode()]
            at = match.end()
            found += 1
    return (b"".join([*parts, text[at:]]), found) if found else (text, 0)


def _hits(body: bytes) -> Iterator[tuple[int, int, int]]:
    """(literal, start, end) from left to right, in windows: a body made of literals alone must not become a list of
    millions."""
    if len(body) <= _WINDOW:
        yield from _found(body)
        return
    for offset in range(0, len(body), _WINDOW):
        for index, start, end in _found(body[offset : offset + _WINDOW + _LONGEST]):
            if start < _WINDOW:
                yield index, offset + start, offset + end


def _found(window: bytes) -> list[tuple[int, int, int]]:
    found = [
        (pack[index], start, end) for scan, pack in _SCANS for index, start, end in scan.find_matches_as_indexes(window)
    ]
    if len(found) > 1:
        found.sort(key=itemgetter(1))
    return found


def _globs(globs: list[str]) -> Callable[[str], bool] | None:
    if not globs:
        return None
    pattern = re.compile("|".join(translate(glob) for glob in globs))
    return lambda key: pattern.match(key) is not None
