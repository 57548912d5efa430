"""Two LangGraph agents whose model is a function: a support desk that asks billing for refunds. No key, no network.

    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py

OpenInference writes the spans: `pip install langchain openinference-instrumentation-langchain`. An agent's `name` is
what reports know it by, and `thread_id` joins the turns of a conversation.
"""

import os
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class Scripted(BaseChatModel):
    """A model that answers by rules in place of a real one."""

    model_name: str
    script: Any  # (question, what tools gave) -> an answer, or a tool's name and arguments

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **more: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(t) for t in tools], **more)

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        question = next(str(m.content) for m in reversed(messages) if isinstance(m, HumanMessage))
        since = len(messages) - next(i for i, m in enumerate(reversed(messages)) if isinstance(m, HumanMessage))
        results = [str(m.content) for m in messages[since:] if isinstance(m, ToolMessage)]
        answer = self.script(question, results)
        message = AIMessage(
            answer if isinstance(answer, str) else "",
            tool_calls=[] if isinstance(answer, str) else [{"name": answer[0], "args": answer[1], "id": _id(messages)}],
            usage_metadata={"input_tokens": 40 + 10 * len(messages), "output_tokens": 8, "total_tokens": 0},
            response_metadata={"model_name": self.model_name},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def _id(messages: list[BaseMessage]) -> str:
    return f"call_{len(messages)}"


def desk_script(question: str, results: list[str]) -> Any:
    if not results:
        return "look_up_order", {"number": "41" if "41" in question else "7"}
    if "no order" in results[-1]:
        return "There is no such order."
    if "refund" in question and len(results) == 1:
        return "ask_billing", {"task": "refund order 7"}
    return results[-1]


def billing_script(question: str, results: list[str]) -> Any:
    return results[-1] if results else ("issue_refund", {"number": "7"})


@tool
def look_up_order(number: str) -> str:
    """Find an order by its number."""
    if number != "7":
        raise ToolException("no order has this number")
    return "Order 7: two lamps, paid"


look_up_order.handle_tool_error = True  # the model is told, and goes on


@tool
def issue_refund(number: str) -> str:
    """Pay an order back."""
    return f"Order {number} was refunded"


billing = create_agent(Scripted(model_name="billing-model", script=billing_script), [issue_refund], name="billing")


@tool
def ask_billing(task: str) -> str:
    """Have billing do something."""
    return str(billing.invoke({"messages": [HumanMessage(task)]})["messages"][-1].content)


desk = create_agent(
    Scripted(model_name="desk-model", script=desk_script), [look_up_order, ask_billing], name="support-desk"
)


def main() -> None:
    # Names the service and the side; set these variables to say otherwise.
    os.environ.setdefault("OTEL_SERVICE_NAME", "support-desk")
    os.environ.setdefault("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=1.0.0")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    LangChainInstrumentor().instrument(tracer_provider=provider)
    for thread, question in (("a", "Where is order 7?"), ("a", "Please refund order 7"), ("b", "Where is order 41?")):
        asked = {"messages": [HumanMessage(question)]}
        answer = desk.invoke(asked, {"configurable": {"thread_id": thread}})["messages"][-1].content
        print(question, "->", answer, flush=True)
    provider.shutdown()


if __name__ == "__main__":
    main()
