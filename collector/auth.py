"""Bearer tokens."""

from __future__ import annotations

import hmac


def authorized(header: str | bytes, allowed: tuple[bytes, ...]) -> bool:
    """Whether an Authorization header holds one of the tokens, in constant time for each."""
    given = header.encode() if isinstance(header, str) else header
    scheme, _, token = given.partition(b" ")
    matches = [hmac.compare_digest(token.strip(), each) for each in allowed]
    return scheme.lower() == b"bearer" and any(matches)
