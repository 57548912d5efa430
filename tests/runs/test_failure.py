"""Whether a span failed is judged once, and again where what is known of it has changed."""

from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.trace.spans import rows, table
from otelcov.runs.trace.tree import LLM, TOOL, Node, failure
from tests.runs.requests import frames, request, span


def _node(*spans):
    columns, side = table(*frames([("traces", request(spans))]))
    return Node(rows(columns)[0], side)


def test_what_failed_is_judged_anew_once_its_kind_or_whose_error_it_is_is_known():
    node = _node(span(1, name="chat", status=2, gen_ai__operation__name="chat", error__type="Boom"))
    assert failure(node) == failure(node) is not None
    node.inherited = True
    assert failure(node) is None
    node.inherited = False
    assert failure(node) is not None


def test_an_error_type_alone_tells_of_steps_only():
    node = _node(span(1, name="work", error__type="Boom"))
    node.kind = None
    assert failure(node) is None
    node.kind = TOOL
    assert failure(node) is not None
    node.kind = LLM
    assert failure(node) is not None


def test_arguments_are_told_alike_however_often_and_of_whatever_they_are_asked():
    texts = [f'{{"q": {n}}}' for n in range(200)]
    for _ in range(2):
        assert [arguments_of(text)[0] for text in texts] == [{"q": n} for n in range(200)]
    long = '{"q": "' + "x" * 70_000 + '"}'
    assert arguments_of(long) == arguments_of(long)
    assert [arguments_of({"q": n})[0] for n in range(100)] == [{"q": n} for n in range(100)]
