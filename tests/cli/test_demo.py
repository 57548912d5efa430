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


def test_the_demo_shows_the_whole_loop_in_20_seconds(tmp_path):
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = otelcov("demo", "--into", str(tmp_path / "kept"))
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0, result.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15
    assert took < 20 or os.getloadavg()[0] > os.cpu_count()  # others at work: then the processor's time must do
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    shown = next(block for block in re.findall(r"```\n(.*?)```", readme, re.DOTALL) if block.startswith("Coverage"))
    printed = {line.strip() for line in result.stdout.splitlines()}
    lines = {line.strip() for line in shown.splitlines() if " trace " not in line}
    assert lines - printed == set(), "the README shows what the demo does not print"
    kept = otelcov("runs", "--format", "jsonl", "--store", str(tmp_path / "kept" / ".otelcov"))
    assert len(kept.stdout.splitlines()) == 35


def test_the_demo_needs_no_network_and_heeds_no_proxy_and_no_store_of_yours(tmp_path):
    nowhere = "http://127.0.0.1:9"
    result = otelcov(
        "demo",
        HTTP_PROXY=nowhere,
        http_proxy=nowhere,
        grpc_proxy=nowhere,
        OTELCOV_STORE=str(tmp_path / "mine"),
        OTEL_EXPORTER_OTLP_ENDPOINT=nowhere,
    )
    assert result.returncode == 0, result.stderr
    assert "5 test, 30 production" in result.stdout
    assert not (tmp_path / "mine").exists()
