"""Two agents of OpenAI's Agents SDK on a scripted server: a triage agent hands over to refunds. No key, no network.

    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py

OpenInference writes the spans: `pip install openai-agents openinference-instrumentation-openai-agents`. What a session
is called comes from `using_session`; the SDK's own `group_id` does not reach the spans.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class Script(BaseHTTPRequestHandler):
    """Answers chat completions by rules in place of a model."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = _answer(asked["messages"], {t["function"]["name"] for t in asked.get("tools", ())})
        reason = "tool_calls" if "tool_calls" in message else "stop"
        told = {
            "id": f"chatcmpl-{len(asked['messages'])}",
            "object": "chat.completion",
            "created": 0,
            "model": asked["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 60, "completion_tokens": 9, "total_tokens": 69},
        }
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _answer(messages: list[dict[str, Any]], tools: set[str]) -> dict[str, Any]:
    question = next(m["content"] for m in reversed(messages) if m["role"] == "user")
    results = [m["content"] for m in messages if m["role"] == "tool"]
    if "transfer_to_refunds" in tools and "refund" in question:
        return _call("transfer_to_refunds", {}, messages)
    wanted = "pay_back" if "pay_back" in tools else "find_order"
    if wanted not in {c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}:
        return _call(wanted, {"order": 7}, messages)
    return {"content": results[-1]}


def _call(name: str, arguments: dict[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": f"call_{len(messages)}", "type": "function", "function": function}]}


@function_tool
def find_order(order: int) -> str:
    """Find an order by its number."""
    return f"Order {order}: two lamps, paid"


@function_tool
def pay_back(order: int) -> str:
    """Pay an order back."""
    return f"Order {order} was refunded"


def main() -> None:
    # Names the service and the side; set these variables to say otherwise.
    os.environ.setdefault("OTEL_SERVICE_NAME", "shop")
    os.environ.setdefault("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=1.0.0")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0)
    model = OpenAIChatCompletionsModel(model="shop-model", openai_client=client)
    refunds = Agent(name="refunds", instructions="Pay back.", tools=[pay_back], model=model)
    triage = Agent(name="triage", instructions="Help.", tools=[find_order], handoffs=[refunds], model=model)

    for session, question in (("a", "Where is order 7?"), ("a", "I want a refund"), ("b", "What did I order?")):
        with using_session(session):
            result = Runner.run_sync(triage, question, run_config=RunConfig(workflow_name="shop"))
        print(question, "->", result.final_output, flush=True)
    server.shutdown()
    provider.shutdown()


if __name__ == "__main__":
    main()
