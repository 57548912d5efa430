"""Personal data and secrets out of texts that go into a file that people commit.

A text that holds none stays as it is. One that does becomes a regex in which each such part is a wildcard, so that the
case still finds its run. Known are the forms of secrets that the collector masks, e-mail addresses, phone numbers,
payment cards and IBANs, addresses of machines, and the patterns of `[cases] redact`. Names of people have no form: read
what was written before you commit it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

_FORMS = (
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b",  # IBAN (ISO 13616)
    r"(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])",  # payment card
    r"(?<!\w)\+\d[\d ().-]{6,18}\d(?!\w)",  # phone, international
    r"(?<![\w-])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])",  # and within North America
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
    r"\[MASKED\]",
)
_ANY = ".+?"


class Redactor:
    """The known forms and those of the config."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._forms = re.compile("|".join(f"(?:{form})" for form in (*_FORMS, *patterns)))

    def pattern(self, text: str) -> str | None:
        """None if the text may be written; else a regex that matches it and tells nothing private."""
        spans = self._spans(text)
        if not spans:
            return None
        parts, at = [], 0
        for start, end in spans:
            parts += [re.escape(text[at:start]), _ANY]
            at = end
        return f"(?s)^{''.join([*parts, re.escape(text[at:])])}$"

    def _spans(self, text: str) -> list[tuple[int, int]]:
        found = [match.span() for match in self._forms.finditer(text)] + _secrets(text)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(s for s in found if s[0] < s[1]):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged


def _secrets(text: str) -> list[tuple[int, int]]:
    """Where the collector would have masked, in characters."""
    from collector.redaction import MASK, mask

    clean, found = mask(text.encode())
    if not found:
        return []
    spans, at = [], 0
    pieces = clean.decode().split(MASK)
    for piece, following in pairwise(pieces):
        start = at + len(piece)
        end = text.index(following, start) if following else len(text)
        spans.append((start, end))
        at = end
    return spans
