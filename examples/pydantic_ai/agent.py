"""Two pydantic-ai agents whose models are functions: a travel desk that asks a booking clerk. No key, no network.

    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 python agent.py

pydantic-ai writes the spans itself; all there is to do is to give it a tracer provider.
"""

import os

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent, InstrumentationSettings, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def desk_model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Looks flights up first, then asks the clerk to book, then answers."""
    question = str(messages[0].parts[-1].content)
    done = [part.tool_name for m in messages for part in m.parts if isinstance(part, ToolReturnPart)]
    if "search_flights" not in done:
        return ModelResponse([ToolCallPart("search_flights", {"city": "Lisbon"})])
    if "book" in question.lower() and "ask_clerk" not in done:
        return ModelResponse([ToolCallPart("ask_clerk", {"task": "book TP123"})])
    return ModelResponse([TextPart("Booked, reference B-7." if "ask_clerk" in done else "Flight TP123 at 09:15.")])


def clerk_model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Books; tries once more with a passenger when the tool asks for one."""
    told = str(messages[-1].parts[-1].content)
    if "booked" in told:
        return ModelResponse([TextPart("Booked, reference B-7.")])
    passenger = "Ada" if "Name the passenger" in told else ""
    return ModelResponse([ToolCallPart("book_flight", {"flight": "TP123", "passenger": passenger})])


desk = Agent(FunctionModel(desk_model, model_name="desk-model"), name="desk")
clerk = Agent(FunctionModel(clerk_model, model_name="clerk-model"), name="clerk")


@desk.tool_plain
def search_flights(city: str) -> str:
    """Find flights to a city."""
    return "TP123 at 09:15"


@desk.tool_plain
async def ask_clerk(task: str) -> str:
    """Hand a booking over to the clerk."""
    return (await clerk.run(task)).output


@clerk.tool_plain
def book_flight(flight: str, passenger: str) -> str:
    """Book a flight for a passenger."""
    if not passenger:
        raise ModelRetry("Name the passenger.")
    return f"{flight} booked for {passenger}, reference B-7"


def main() -> None:
    # Names the service and the side; set these variables to say otherwise.
    os.environ.setdefault("OTEL_SERVICE_NAME", "travel-desk")
    os.environ.setdefault("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=1.0.0")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(insecure=True)))
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    for question in ("Flights to Lisbon?", "Book a flight to Lisbon", "When does TP123 leave?"):
        print(question, "->", desk.run_sync(question).output, flush=True)
    provider.shutdown()


if __name__ == "__main__":
    main()
