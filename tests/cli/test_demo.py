import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path


def otelcov(*arguments, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTELCOV_", "OTEL_"))}
    command = [sys.executable, "-m", "otelcov", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=clean | more, check=False, timeout=60)


NOWHERE = "http://127.0.0.1:9"
# It needs no network, and heeds no proxy and no exporter of yours.
NOTHING_ELSE = dict.fromkeys(("HTTP_PROXY", "http_proxy", "grpc_proxy", "OTEL_EXPORTER_OTLP_ENDPOINT"), NOWHERE)
README = Path(__file__).parents[2] / "README.md"


def steady(report):
    """The report's first part without the line of the clock; the trace is another each time."""
    lines = [line.rstrip() for line in report.splitlines()]
    first = next(number for number, line in enumerate(lines) if "score" in line)
    last = next(number for number, line in enumerate(lines) if line.startswith("Seen elsewhere")) + 6
    return [lines[0], *(re.sub(r"trace [0-9a-f]+…", "trace 4bf92f35…", line) for line in lines[first:last])]


def test_a_config_that_is_not_the_demos_is_left_alone(tmp_path):
    (tmp_path / "otelcov.toml").write_text("[runs]")
    result = otelcov("demo", "--into", str(tmp_path))
    assert result.returncode == 2
    assert (tmp_path / "otelcov.toml").read_text() == "[runs]"


def test_the_demo_shows_the_whole_loop_in_20_seconds(tmp_path):
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = otelcov("demo", "--into", str(tmp_path / "kept"), **NOTHING_ELSE, OTELCOV_STORE=str(tmp_path / "mine"))
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0, result.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15
    assert took < 20 or os.getloadavg()[0] > os.cpu_count()  # others at work: then the processor's time must do
    shown = "\n".join(steady(result.stdout))
    readme = README.read_text()
    block = next(b for b in re.findall(r"```\n(.*?)\n```", readme, re.DOTALL) if b.startswith("Coverage"))
    if os.environ.get("OTELCOV_WRITE_EXPECTED"):
        README.write_text(readme.replace(block, shown))
    else:
        assert block == shown, "write the README's block anew: OTELCOV_WRITE_EXPECTED=1 uv run pytest tests/cli"
    kept = otelcov("runs", "--format", "jsonl", "--store", str(tmp_path / "kept" / ".otelcov"))
    assert len(kept.stdout.splitlines()) == 35
    assert not (tmp_path / "mine").exists()
