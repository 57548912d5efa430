"""A library assistant, instrumented by hand on the plain OpenTelemetry SDK, whose model is a script.

    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py [--every SECONDS]

Three kinds of span are all that coverage needs: `invoke_agent`, `chat`, `execute_tool`.
"""

import argparse
import json
import os
import time
import uuid

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

MODEL = "gpt-4o-mini"


def search_catalogue(title):
    return f"{title}: shelf 4"


def reserve_book(title):
    if title == "Ulysses":
        raise LookupError("all copies are lent")
    return f"{title} reserved"


TOOLS = {"search_catalogue": search_catalogue, "reserve_book": reserve_book}

# What a model would answer: the tool to call next, or the answer.
SCRIPTS = {
    "Do you have Emma?": [("search_catalogue", {"title": "Emma"}), "Yes, on shelf 4."],
    "Reserve Emma": [("search_catalogue", {"title": "Emma"}), ("reserve_book", {"title": "Emma"}), "Emma is reserved."],
    "Reserve Ulysses": [("reserve_book", {"title": "Ulysses"}), "I am sorry, all copies are lent."],
    "Good morning": ["Good morning!"],
}


def answer(tracer, question):
    """One request to the agent: a root span, and one span for each model and tool call."""
    messages = [{"role": "user", "parts": [{"type": "text", "content": question}]}]
    with tracer.start_as_current_span("invoke_agent librarian", kind=SpanKind.INTERNAL) as span:
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
        span.set_attribute("gen_ai.agent.name", "librarian")
        span.set_attribute("gen_ai.conversation.id", str(uuid.uuid4()))
        span.set_attribute("gen_ai.input.messages", json.dumps(messages))
        for step in SCRIPTS[question]:
            call_id = f"call_{uuid.uuid4().hex[:12]}"
            chat(tracer, messages, step, call_id)
            if isinstance(step, str):
                span.set_attribute("gen_ai.output.messages", json.dumps(messages[-1:]))
                return step
            result = execute(tracer, *step, call_id)
            part = {"type": "tool_call_response", "id": call_id, "response": result}
            messages.append({"role": "tool", "parts": [part]})


def chat(tracer, messages, step, call_id):
    with tracer.start_as_current_span(f"chat {MODEL}", kind=SpanKind.CLIENT) as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("gen_ai.provider.name", "openai")
        span.set_attribute("gen_ai.request.model", MODEL)
        span.set_attribute("gen_ai.response.model", MODEL)
        span.set_attribute("gen_ai.input.messages", json.dumps(messages))
        span.set_attribute("gen_ai.tool.definitions", json.dumps([{"type": "function", "name": t} for t in TOOLS]))
        if isinstance(step, str):
            part, reason = {"type": "text", "content": step}, "stop"
        else:
            part = {"type": "tool_call", "id": call_id, "name": step[0], "arguments": step[1]}
            reason = "tool_call"
        messages.append({"role": "assistant", "parts": [part]})
        span.set_attribute("gen_ai.output.messages", json.dumps([{**messages[-1], "finish_reason": reason}]))
        span.set_attribute("gen_ai.response.finish_reasons", [reason])
        span.set_attribute("gen_ai.usage.input_tokens", 20 * len(messages))
        span.set_attribute("gen_ai.usage.output_tokens", 12)


def execute(tracer, name, arguments, call_id):
    """What the model is told: the tool's result, or its error."""
    with tracer.start_as_current_span(f"execute_tool {name}", kind=SpanKind.INTERNAL) as span:
        span.set_attribute("gen_ai.operation.name", "execute_tool")
        span.set_attribute("gen_ai.tool.name", name)
        span.set_attribute("gen_ai.tool.type", "function")
        span.set_attribute("gen_ai.tool.call.id", call_id)
        span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments))
        try:
            result = TOOLS[name](**arguments)
        except LookupError as error:
            span.record_exception(error)
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR, str(error))
            return f"Error: {error}"
        span.set_attribute("gen_ai.tool.call.result", result)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=float, metavar="SECONDS", help="go on for ever, with this pause")
    pause = parser.parse_args().every
    # Names the service and the side; set these variables to say otherwise.
    os.environ.setdefault("OTEL_SERVICE_NAME", "library")
    os.environ.setdefault("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=1.0.0")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("library.agent")
    while True:
        for question in SCRIPTS:
            print(question, "->", answer(tracer, question), flush=True)
        if pause is None:
            break
        time.sleep(pause)
    provider.shutdown()


if __name__ == "__main__":
    main()
