"""What a dialect is: a table that says where one instrumentation keeps each fact of a span.

A dialect decides nothing about a trace. It answers, for one span at a time, "if this is yours, what kind of step is
it, which tool, which model …", as Polars expressions over the span's attributes (one column per attribute key, text
unless the fact is a number). Columns named `span.name`, `span.kind`, `scope.name` and `scope.version` stand beside the
attributes. All dialects of registry.py are asked (facts.py); fact by fact, the first answer that is not null counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

import polars as pl

AGENT, CHAIN, LLM, TOOL, HANDOFF, SETUP, OTHER = "agent", "chain", "llm", "tool", "handoff", "setup", "other"
EVALUATION = "evaluation"
"""Kinds of a span. `chain` holds steps and is none; `setup` is work before any request (an agent being built, tools
being listed); `other` is understood and of no concern (an embedding, a guardrail); an `evaluation` judges what was
done, and nothing in it is the work of an agent."""


@dataclass(frozen=True, eq=False)
class Dialect:
    """One instrumentation's table. Every field but `name` is an expression or None; see `FACTS`."""

    name: str
    kind: pl.Expr | None = None  # one of the constants above
    agent: pl.Expr | None = None  # the agent this span is, or belongs to
    tool: pl.Expr | None = None
    call_id: pl.Expr | None = None
    arguments: pl.Expr | None = None  # of a tool span
    result: pl.Expr | None = None  # of a tool span
    request_model: pl.Expr | None = None
    response_model: pl.Expr | None = None
    input_tokens: pl.Expr | None = None
    output_tokens: pl.Expr | None = None
    response_id: pl.Expr | None = None  # the provider's id of a model's answer: equal ids are one call
    finish: pl.Expr | None = None
    input_messages: pl.Expr | None = None  # of a model span: JSON text, or plain text
    output_messages: pl.Expr | None = None
    system: pl.Expr | None = None
    input: pl.Expr | None = None  # of an agent or a chain: what it was asked
    output: pl.Expr | None = None
    definitions: pl.Expr | None = None  # tools offered: JSON text
    conversation: pl.Expr | None = None
    case: pl.Expr | None = None
    error_type: pl.Expr | None = None
    error_text: pl.Expr | None = None  # what went wrong, where an attribute tells it
    # "true": an attribute says that the tool failed; "denied": it may not run; "unknown": how it went is not told;
    # "untold": but to the model; of a model's span, "borrowed": others may have been told by it, too; "shared": it
    # tells the last of several; "asked": it asked for tools, and no more of these is told
    tool_error: pl.Expr | None = None
    from_agent: pl.Expr | None = None  # of a handoff
    to_agent: pl.Expr | None = None


FACTS = tuple(f.name for f in fields(Dialect) if f.name != "name")
NUMBERS = ("input_tokens", "output_tokens")
UNTOLD = "-1"
"""In place of a number that an attribute has and nobody counted: no dialect after it is asked."""
NOTHING = ""
"""In place of a text that an attribute has and nobody told, likewise."""

# Families of flattened keys: `llm.input_messages.0.message.role` … They reach the reconstruction as lists of pairs.
FAMILIES = {
    "llm.input_messages.": "flat_input",
    "gen_ai.prompt.": "flat_input",
    "gen_ai.input.messages.": "flat_input",
    "llm.output_messages.": "flat_output",
    "gen_ai.output.messages.": "flat_output",
    "gen_ai.completion.": "flat_output",
    "llm.tools.": "flat_tools",
    "gen_ai.tool.definitions.": "flat_tools",
    "llm.request.functions.": "flat_tools",
    "gen_ai.request.functions.": "flat_tools",
    # As OpenLLMetry wrote them before the conventions came, and as it does for Go.
    "llm.prompts.": "flat_input",
    "llm.completions.": "flat_output",
    # Names of an enumeration in place of its values (LiteLLM since 1.4x under Python 3.11).
    "SpanAttributes.LLM_PROMPTS.": "flat_input",
    "SpanAttributes.LLM_COMPLETIONS.": "flat_output",
    "SpanAttributes.LLM_REQUEST_FUNCTIONS.": "flat_tools",
    "neatlogs.llm.input_messages.": "flat_input",
    "neatlogs.llm.output_messages.": "flat_output",
    "neatlogs.llm.tool_calls.": "flat_output",
    "neatlogs.llm.tools.": "flat_tools",
}
WITHIN = {"neatlogs.llm.tool_calls.": "0.tool_calls."}
"""Where what a family tells beside the messages stands in them."""


ANYS = "*."
"""Before the end of a key that some vendor has under a name of its own, where no dialect reads that key: forks of an
SDK rename it. Such a column has what the last of them told."""


EVENT = "\N{SECTION SIGN}"
"""Between the name of a span's event and a key of its attributes, where a dialect reads these: see `of_event`."""


def of_event(name: str, key: str) -> str:
    """The attribute `key` of the last event of a span that has this name, as if it were an attribute of the span."""
    return f"{name}{EVENT}{key}"


def first(*keys: str) -> pl.Expr:
    """The first of these attributes that is set."""
    return pl.coalesce([pl.col(k) for k in keys])


# A thread of messages; one of the operating system, as agents for Java and Rust note it, is a number.
THREAD = pl.when(~pl.col("thread.id").str.contains(r"^\d+$")).then(pl.col("thread.id"))


def value(key: str, /, **names: str) -> pl.Expr:
    """The kind that an attribute's value stands for; other values say nothing."""
    return (
        pl.col(key)
        .str.to_lowercase()
        .replace_strict({k.lower(): v for k, v in names.items()}, default=None, return_dtype=pl.String)
    )


def json_text(key: str, *names: str) -> pl.Expr:
    """The first text member of one of these names, at any depth, in an attribute that holds JSON - cut short or not."""
    return pl.coalesce([pl.col(key).str.extract(rf'"{n}":\s*"((?:[^"\\]|\\.)+)"') for n in names])


def json_number(key: str, *names: str) -> pl.Expr:
    """The first number of one of these names, likewise; one at which the text ends may be cut short, too."""
    return pl.coalesce([pl.col(key).str.extract(rf'"{n}":\s*(\d+)\D') for n in names])


_ANSWERED_BY = (
    r'"response_metadata": ?\{.*?"model_name": ?"([^"\\]+)"',  # LangChain
    r'"model(?:_v|V)ersion": ?"([^"\\]+)"',  # Gemini
    r"\bmodel='([^']+)', object='chat\.completion'",  # OpenAI's, as Python prints it
)


def answered_by(*keys: str) -> pl.Expr:
    """The model that an attribute with the whole of an answer names as the one that gave it."""
    return pl.coalesce([pl.col(key).str.extract(pattern) for key in keys for pattern in _ANSWERED_BY])


AS_ASKED = pl.col("gen_ai.response.model") == pl.col("gen_ai.request.model")
"""Where the model that answered bears just the name of the one that was asked."""

DATED = r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$"
"""How the name of a model ends that answered for an alias, or was asked for by its date."""

BY_MESSAGES = r"^autogen \w*AgentRuntime$"
"""Scopes of runtimes that tell of the messages that agents are sent, and of what they do by these alone."""

NAMED_BY_CLASS = (
    r"^(?:@(?:traceloop|openlit)/instrumentation-langchain|@arizeai/openinference-instrumentation-beeai|dd-trace-js)$"
)
"""Scopes of instrumentations that name a tool's span by the class of the tool, by what befell it, or - Datadog's, where
no program declared one - by who asked for it."""


def scope(pattern: str) -> pl.Expr:
    """True where the instrumentation scope's name matches."""
    return matches("scope.name", pattern)


def matches(column: str, pattern: str) -> pl.Expr:
    """True where a column matches. Most patterns are a word, at the beginning or the end perhaps: to make an automaton
    of each takes longer than to look at all names of a batch."""
    text, word = pl.col(column), pattern.removeprefix("^").removesuffix("$")
    if not re.fullmatch(r"(?:[\w@/-]|\\\.)+", word):
        return text.str.contains(pattern)
    begins, ends, word = pattern.startswith("^"), pattern.endswith("$"), word.replace("\\", "")
    if begins and ends:
        return text == word
    if begins or ends:
        return text.str.starts_with(word) if begins else text.str.ends_with(word)
    return text.str.contains(word, literal=True)


def span_name(pattern: str) -> pl.Expr:
    """The first group of a pattern in the span's name."""
    return pl.col("span.name").str.extract(pattern)


def as_message(text: pl.Expr, role: str = "assistant") -> pl.Expr:
    """An object that is the answer, or what was asked, as a message's text: so it is no state and no message itself."""
    for letter, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.str.replace_all(letter, written, literal=True)
    return pl.concat_str(pl.lit(f'[{{"role":"{role}","content":"'), text, pl.lit('"}]'))
