"""More of what pairs of kit and instrumentation that are recorded nowhere sent, in small."""

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span


def _agno(said, tokens):
    """An agent of Agno's with a model of Bedrock's, under Traceloop's 0.62: it ends well whatever came of it."""
    told = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "planner", "traceloop.entity.input": "go"}
    told |= {"traceloop.entity.output": said, "gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": tokens}
    return span(1, None, "planner.agent", took=2, scope="opentelemetry.instrumentation.agno", attributes=told)


def test_what_an_agent_of_agnos_put_out_is_no_answer_where_no_model_put_out_a_token():
    for tokens, told in ((0, None), (7, "Read timeout on endpoint")):
        (run,) = agreed(_agno("Read timeout on endpoint", tokens))
        assert run["output"] == told
