import os
import subprocess
import sys
import time


def otelcov(*arguments, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTELCOV_", "OTEL_"))}
    command = [sys.executable, "-m", "otelcov", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=clean | more, check=False, timeout=60)


def test_the_demo_shows_the_whole_loop_in_20_seconds(tmp_path):
    began = time.monotonic()
    result = otelcov("demo", "--keep", str(tmp_path / "kept"))
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - began < 20
    for told in ("5 test, 30 production", "charge_card", "planner/cancel_booking", "gemini-2.5-pro"):
        assert told in result.stdout
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
