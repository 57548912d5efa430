"""What AWS's distribution moved from spans into log records, put back where it was.

Its exporter takes what was said out of a span's attributes, and writes a record of that span, named after its scope:
`{"input": {"messages": […]}, "output": {"messages": […]}}`, each message a role and the value of one attribute. Which
attribute that was is not told, but in which order they come: whole values first, then those with numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from otelcov.ground.patterns import late
from otelcov.ground.schemas import KEY_VALUE
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.trace.attributes import scope_of, struct_value

_Contents = list[tuple[Any, str]]
"""Of each message its role and what it holds."""
_Keys = dict[str, str | None]
"""The keys of the attributes that a span has, with their texts."""
_Read = Callable[[str, _Contents, _Keys], Iterator[tuple[str, str]]]

_PLAIN = late(r"^(?:langsmith|openlit)\b")
"""Scopes whose spans hold a prompt and an answer in one attribute each (LangSmith's export, OpenLIT)."""
_OPENINFERENCE, _TRACELOOP = "openinference.span.kind", "traceloop.span.kind"
_NUMBERED = late(r"(llm\.(?:input|output)_messages|gen_ai\.(?:prompt|completion))\.(\d+)\.(?:message\.)?(\w+)")
_PLACES = {
    _OPENINFERENCE: {
        "input": "llm.input_messages.{}.message.content",
        "output": "llm.output_messages.{}.message.content",
    },
    None: {"input": "gen_ai.prompt.{}.content", "output": "gen_ai.completion.{}.content"},
}
"""Where the text of a message with a number stands."""
_JSON = ('{"', "[{", "[[{", '["')


def put_back(logs: pl.DataFrame, spans: pl.DataFrame) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """The attributes that these records hold, by the row of their span; and the records that hold no such."""
    named = pl.col("attributes").list.eval(
        (pl.element().struct.field("key") == "event.name")
        & pl.element().struct.field("string_value").str.starts_with("gen_ai.")
    )
    other = pl.col("event_name").str.starts_with("gen_ai.") | named.list.any()
    holding = pl.col("body").struct.field("kvlist_value").is_not_null()
    some = logs.with_row_index("number").filter(holding & ~other.fill_null(value=False))
    if not some.height:
        return [], logs
    row = pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")
    ids = spans.select("trace_id", "span_id", row, own="attributes", kit="scope")
    found: list[tuple[int, str, str]] = []
    done: list[int] = []
    for record in some.join(ids, on=["trace_id", "span_id"]).sort("number").iter_rows(named=True):
        told = _told(record)
        if told is not None:
            done.append(record["number"])
            found += [(record["row"], key, value) for key, value in told]
    rest = logs.with_row_index("number").filter(~pl.col("number").is_in(done)).drop("number")
    return [pairs(found)] if found else [], rest


def _told(record: dict[str, Any]) -> list[tuple[str, str]] | None:
    """The attributes that a record holds; None where it is none of these, or what it holds fits no attributes."""
    body = struct_value(record["body"])
    if not isinstance(body, dict) or not body or not body.keys() <= {"input", "output"}:
        return None
    keys = {pair["key"]: pair["string_value"] for pair in record["own"] or []}
    out: list[tuple[str, str]] = []
    for way, held in body.items():
        messages = held.get("messages") if isinstance(held, dict) else None
        told = [(m.get("role"), m.get("content")) for m in messages or () if isinstance(m, dict)]
        contents = [(role, text) for role, text in told if isinstance(text, str)]
        if not told or len(contents) < len(told):
            return None
        fitting = (
            some for read in _ways(record["kit"], keys) if len(some := list(read(way, contents, keys))) == len(contents)
        )
        attributes = next(fitting, None)
        if attributes is None:
            return None
        out += attributes
    return out


def _ways(kit: bytes | None, keys: _Keys) -> tuple[_Read, ...]:
    """In which ways such a span's attributes may be read, the surest first."""
    if _PLAIN.match(scope_of(kit)[0]):
        return _whole, _plain
    return (_both, _flat) if _OPENINFERENCE in keys else (_whole, _entity, _flat)


def _whole(way: str, contents: _Contents, _: _Keys) -> Iterator[tuple[str, str]]:
    """Attributes of the conventions: messages as JSON, and instructions."""
    for role, text in contents:
        parts = parse_json(text) if text[:2] == "[{" else None
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            return
        if all("role" in part and "parts" in part for part in parts):
            yield f"gen_ai.{way}.messages", text
        elif role == "system" and all("type" in part for part in parts):
            yield "gen_ai.system_instructions", text


def _both(way: str, contents: _Contents, keys: _Keys) -> Iterator[tuple[str, str]]:
    """Attributes of the conventions, and OpenInference's that were made of them."""
    own = [told for one in contents for told in _whole(way, [one], keys)] if "gen_ai.operation.name" in keys else []
    if own:
        yield from own
        values = {value for _, value in own}
        rest = [(role, text) for role, text in contents if text not in values]
        yield from _flat(way, rest, keys) if rest else ()


def _plain(way: str, contents: _Contents, _: _Keys) -> Iterator[tuple[str, str]]:
    """One prompt or answer, in whatever form."""
    yield from (("gen_ai.prompt" if way == "input" else "gen_ai.completion", text) for _, text in contents[:1])


def _entity(way: str, contents: _Contents, keys: _Keys) -> Iterator[tuple[str, str]]:
    """Traceloop's, of what is no model's call."""
    if _TRACELOOP in keys:
        yield from ((f"traceloop.entity.{way}", text) for _, text in contents[:1])


def _flat(way: str, contents: _Contents, keys: _Keys) -> Iterator[tuple[str, str]]:
    """OpenInference's, the whole, and behind it the texts of those messages that have one; Traceloop's, the texts."""
    style = _OPENINFERENCE if _OPENINFERENCE in keys else None
    place = _PLACES[style][way]
    texts = [text for _, text in contents]
    hits = [(hit, value) for key, value in keys.items() if (hit := _NUMBERED.match(key))]
    told = [(int(hit.group(2)), hit.group(3), value) for hit, value in hits if place.startswith(hit.group(1))]
    places = sorted({n for n, _, _ in told} - {n for n, what, _ in told if what == "contents"})
    calling = {n for n, what, _ in told if what == "tool_calls"}
    mute = {n for n, what, value in told if what == "role" and value == "assistant"}  # they may have asked for tools
    some = (places, *([n for n in places if n not in without] for without in (calling, mute)))
    sure = texts[0].startswith(_JSON) or f"{way}.mime_type" in keys or not places
    whole = style is not None and (sure or len(texts) not in map(len, some))
    fitting = [slots for slots in some if len(texts) == whole + len(slots)]
    slots = fitting[0] if fitting else [None] * (len(texts) - whole)
    if whole or fitting:
        yield from ((f"{way}.value", text) for text in texts[:whole])
        yield from ((place.format(n), text) for n, text in zip(slots, texts[whole:], strict=True))


def pairs(found: list[tuple[int, str, str]]) -> pl.DataFrame:
    rows, names, values = zip(*found, strict=True)
    told = {"row": pl.Series(rows, dtype=pl.UInt32), "key": pl.Series(names), "string_value": pl.Series(values)}
    empty = {field.name: pl.lit(None, field.dtype) for field in KEY_VALUE.fields if field.name not in told}
    return pl.DataFrame(told).with_columns(**empty)
