"""Kits for Python in versions between the early and the newest ones."""

import pytest

from tests.runs.requests import runs, span

_TRACE = """Traceback (most recent call last):


  File "lib/httpcore/_sync/http11.py", line 177, in _receive_response_headers
    event = self._receive_event(timeout=timeout)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

  File "lib/openai/_base_client.py", line 1014, in request
    raise {0}(request=request) from err


openai.{0}: {1}
"""


@pytest.mark.parametrize(
    ("type", "said", "seen"),
    [
        ("APIConnectionError", "Connection error.", ["error"]),
        ("APITimeoutError", "Request timed out.", ["timeout", "error"]),
    ],
)
def test_what_a_program_says_where_it_failed_is_no_reason(type, said, seen):
    """OpenInference of LangChain writes the whole traceback into a status."""
    told = f"{type}('{said}'){_TRACE.format(type, said)}"
    asked = {"attributes": {"openinference.span.kind": "CHAIN", "input.value": "Look."}}
    [run] = runs(
        span(1, None, "planner", took=9, error=told, **asked),
        span(2, 1, "ChatOpenAI", at=1, error=told, attributes={"openinference.span.kind": "LLM"}),
    )
    assert (run["status"], run["boundaries"]) == ("error", seen)
