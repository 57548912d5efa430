"""Every example sends its spans through a real collector and leads to the report beside it.

`OTELCOV_WRITE_EXPECTED=1 uv run pytest tests/examples` writes the reports anew: read the difference before you commit.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from otelcov.cli import loopback

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PORT = {
    "langgraph": "http",
    "openai_agents": "http",
    "plain_sdk": "http",
    "pydantic_ai": "grpc",
    "recipe-agent": "http",
}
VOLATILE = {"first_seen", "last_seen", "example_trace"}  # the clock and random ids
DIMENSION = ("dimension", "score", "covered_items", "missing", "undeclared", "runs", "universe", "reason")


def steady(value):
    if isinstance(value, dict):
        return {key: steady(part) for key, part in value.items() if key not in VOLATILE}
    return [steady(part) for part in value] if isinstance(value, list) else value


def told(shot):
    """What an example's report says, without what a later version may add."""
    coverage = shot["coverage"]
    dimensions = [{key: dimension[key] for key in DIMENSION} for dimension in coverage["dimensions"]]
    return {
        "runs": shot["runs"],
        "coverage": {"overall": coverage["overall"], "weakest": coverage["weakest"], "dimensions": dimensions},
        "edges": steady(shot["edges"]),
        "quality": {key: shot["quality"][key] for key in ("spans", "orphans", "incomplete_runs", "masked")},
    }


QUICK = ("plain_sdk", "pydantic_ai", "recipe-agent")  # the others bring a framework of their own


@pytest.mark.parametrize(
    "example", [pytest.param(name, marks=[pytest.mark.full] * (name not in QUICK)) for name in sorted(PORT)]
)
def test_the_example_leads_to_its_report(example, tmp_path):
    folder = EXAMPLES / example
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTELCOV_", "OTEL_"))}
    with loopback.collector(tmp_path / "store") as ports:
        endpoint = f"http://127.0.0.1:{ports[PORT[example]]}"
        agent = [sys.executable, str(folder / "agent.py")]
        subprocess.run(agent, env=clean | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, check=True, timeout=60)
        command = [*loopback.OTELCOV, "report", "--store", str(tmp_path / "store")]
        command += ["--config", str(folder / "otelcov.toml"), "--since", "1h", "--format", "json"]
        result = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    assert result.returncode == 0, result.stderr
    got = told(json.loads(result.stdout))
    expected = folder / "expected.json"
    if os.environ.get("OTELCOV_WRITE_EXPECTED"):
        expected.write_text(json.dumps(got, indent=1) + "\n")
    assert got == json.loads(expected.read_text())
