"""The function-calling agent of the agent-TDD recipe on the plain OpenTelemetry SDK; its model is a script.

    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py [--break HOW] [--repeat N]
    otelcov test cases.yaml

It asks what the recipe's four single-turn and two multi-turn cases ask. `--break` makes it a worse agent in one way:
wrong-tool, wrong-argument, tool-error or lost-context.
"""

import argparse
import json
import os
import re
import uuid

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

MODEL = os.environ.get("RECIPE_MODEL", "granite-4-h-tiny")

SINGLE_TURN = [
    "What is the weather in Miami?",
    "What were the IBM stock prices on September 5, 2025?",
    "Tell me the current weather in New York",
    "Get me the stock price for AAPL on January 15, 2025",
]
MULTI_TURN = [
    ["What is the weather in Boston?", "Now tell me the IBM stock price on January 10, 2025"],
    ["What's the weather like in London?", "How about in Tokyo?", "And what about Paris?"],
]
MONTHS = {"January": 1, "September": 9}


def get_current_weather(location):
    return {"location": location, "temperature": 21, "conditions": "clear"}


def get_stock_price(ticker, date):
    return {"ticker": ticker, "date": date, "close": 244.2}


TOOLS = {"get_current_weather": get_current_weather, "get_stock_price": get_stock_price}


def decide(question, topic, broken):
    """What the model would call for this question, knowing what the conversation was about so far."""
    stock = re.search(r"\b([A-Z]{3,4})\b.* on (\w+) (\d+), (\d{4})", question)
    place = re.search(r"(?:in|about) (?:in )?([A-Z]\w+(?: [A-Z]\w+)?)\??$", question)
    if stock:
        ticker, month, day, year = stock.groups()
        call = ("get_stock_price", {"ticker": ticker, "date": f"{year}-{MONTHS[month]:02}-{int(day):02}"})
    elif "weather" in question or (topic == "get_current_weather" and broken != "lost-context"):
        call = ("get_current_weather", {"location": place[1]})
    else:
        return None, place[1]
    name, arguments = call
    if broken == "wrong-tool":
        return ("get_current_weather", {"location": "New York"}) if stock else ("get_stock_price", arguments), None
    if broken == "wrong-argument":
        wrong = {"location": "Boston"} if name == "get_current_weather" else {"date": "2025-01-01"}
        arguments = {**arguments, **wrong}
    return (name, arguments), None


def answer(tracer, question, conversation, history, broken):
    """One request: a root span, and one span for each model and tool call."""
    history.append({"role": "user", "parts": [{"type": "text", "content": question}]})
    topic = next((p["name"] for m in reversed(history) for p in m["parts"] if p["type"] == "tool_call"), None)
    with tracer.start_as_current_span("invoke_agent assistant", kind=SpanKind.INTERNAL) as span:
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
        span.set_attribute("gen_ai.agent.name", "assistant")
        span.set_attribute("gen_ai.conversation.id", conversation)
        span.set_attribute("gen_ai.input.messages", json.dumps(history[-1:]))
        call, about = decide(question, topic, broken)
        if call is None:
            reply = f"What would you like to know about {about}?"
        else:
            part = {"type": "tool_call", "id": f"call_{uuid.uuid4().hex[:12]}", "name": call[0], "arguments": call[1]}
            chat(tracer, history, part)
            told = execute(tracer, *call, part["id"], broken)
            response = {"type": "tool_call_response", "id": part["id"], "response": told}
            history.append({"role": "tool", "parts": [response]})
            reply = f"Here is what I found for {subject(question)}: {json.dumps(told)}"
        chat(tracer, history, {"type": "text", "content": reply})
        span.set_attribute("gen_ai.output.messages", json.dumps(history[-1:]))
    return reply


def subject(question):
    """The place or the ticker that a question is about."""
    names = re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+$|[A-Z]\w+", question.strip("?"))
    return next(name for name in reversed(names) if name not in MONTHS)


def chat(tracer, history, part):
    with tracer.start_as_current_span(f"chat {MODEL}", kind=SpanKind.CLIENT) as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("gen_ai.provider.name", "ibm.watsonx.ai")
        span.set_attribute("gen_ai.request.model", MODEL)
        span.set_attribute("gen_ai.input.messages", json.dumps(history))
        span.set_attribute("gen_ai.tool.definitions", json.dumps([{"type": "function", "name": t} for t in TOOLS]))
        reason = "stop" if part["type"] == "text" else "tool_call"
        history.append({"role": "assistant", "parts": [part]})
        span.set_attribute("gen_ai.output.messages", json.dumps([{**history[-1], "finish_reason": reason}]))
        span.set_attribute("gen_ai.response.finish_reasons", [reason])
        span.set_attribute("gen_ai.usage.input_tokens", max(1, len(json.dumps(history[:-1])) // 4))
        span.set_attribute("gen_ai.usage.output_tokens", max(1, len(json.dumps(part)) // 4))


def execute(tracer, name, arguments, call_id, broken):
    with tracer.start_as_current_span(f"execute_tool {name}", kind=SpanKind.INTERNAL) as span:
        span.set_attribute("gen_ai.operation.name", "execute_tool")
        span.set_attribute("gen_ai.tool.name", name)
        span.set_attribute("gen_ai.tool.type", "function")
        span.set_attribute("gen_ai.tool.call.id", call_id)
        span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments))
        try:
            if broken == "tool-error":
                raise ConnectionError("the service does not answer")
            result = TOOLS[name](**arguments)
        except (ConnectionError, TypeError) as error:
            span.record_exception(error)
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR, str(error))
            return f"Error: {error}"
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--break", dest="broken", choices=["wrong-tool", "wrong-argument", "tool-error", "lost-context"]
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    options = parser.parse_args()
    os.environ.setdefault("OTEL_SERVICE_NAME", "recipe")
    os.environ.setdefault("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=1.0.0")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("recipe.agent")
    for _ in range(options.repeat):
        for questions in [[q] for q in SINGLE_TURN] + MULTI_TURN:
            conversation, history = str(uuid.uuid4()), []
            for question in questions:
                print(question, "->", answer(tracer, question, conversation, history, options.broken))
    provider.shutdown()


if __name__ == "__main__":
    main()
