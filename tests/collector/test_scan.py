"""The scan in C: what it is sure of, the official parser takes, with the same counts; and it never reads astray."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from collector import admit, scan, wire
from tests.bench.generate import Traffic, requests
from tests.collector.requests import logs, traces
from tests.collector.test_wire import RULES, mutated, request, samples

ROOT = Path(__file__).parent.parent.parent
needs_scan = pytest.mark.skipif(scan.native is None, reason="built without a C compiler")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


def agree(signal: wire.Signal, body: bytes) -> bool:
    """Whether the scan is sure. If so, the official parser takes the request as it is, with as many items."""
    facts = scan.scan(signal, body)
    if facts is None:
        return False
    judged = admit._judge(signal, body, RULES, 1, plain=True)
    assert judged == admit.admit(signal, body, RULES, 1), body.hex()
    assert judged.rejected == {}
    assert (judged.row.spans if judged.row else 0) == facts.items, body.hex()
    assert judged.row is None or judged.row.body == body, body.hex()
    return True


def a_log() -> bytes:
    message = logs(2)
    record = message.resource_logs[0].scope_logs[0].log_records[0]
    record.body.kvlist_value.values.add(key="k").value.string_value = "vü"
    record.attributes.add(key="a").value.array_value.values.add().int_value = 1
    return bytes(message.SerializeToString())


@needs_scan
def test_ordinary_requests_are_surely_good() -> None:
    for each in requests(Traffic(400, request_spans=80)):
        facts = scan.scan("traces", each.body)
        assert facts is not None and facts.items == each.spans
        assert agree("traces", each.body)
    assert agree("logs", a_log())
    assert scan.scan("traces", b"") == (0, 0)


@needs_scan
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(request)
def test_what_is_surely_good_is_so_for_the_official_parser(message: Any) -> None:
    agree("traces", message.SerializeToString())


@needs_scan
def test_the_scan_counts_no_fewer_parts_than_are_weighed() -> None:
    message = traces(3, a="b", c="d")
    span = message.resource_spans[0].scope_spans[0].spans[0]
    for _ in range(4):
        span.events.add().attributes.add()
        span.attributes.add().value.array_value.values.add()
    facts = scan.scan("traces", message.SerializeToString())
    # resource, scope spans, spans; their attributes with values; events with attributes; arrays with elements
    assert facts == (3, 1 + 1 + 2 + 1 + 3 + 3 * 2 * 2 + 4 * 2 + 4 * 4)


def disagreements(count: int, seed: int) -> int:
    rng = random.Random(seed)
    bodies, record = samples(), a_log()
    sure = 0
    for number in range(count):
        if number % 4:
            sure += agree("traces", mutated(rng, rng.choice(bodies), rng.choice(bodies)))
        else:
            sure += agree("logs", mutated(rng, record, rng.choice(bodies)))
    return sure


@needs_scan
def test_mutants_that_are_surely_good_are_so_for_the_official_parser() -> None:
    assert disagreements(5_000, seed=int(os.environ.get("OTELCOV_TEST_SEED", "3"))) > 250


@needs_scan
@pytest.mark.full
def test_a_million_mutants_that_are_surely_good_are_so_for_the_official_parser() -> None:
    assert disagreements(1_000_000, seed=4) > 50_000


def span(**changes: bytes) -> bytes:
    fields = {"trace": b"\x0a\x10" + b"t" * 16, "own": b"\x12\x08" + b"s" * 8, **changes}
    return _inside(_inside(_inside(b"".join(fields.values()), 2), 2), 1)


def _inside(body: bytes, field: int) -> bytes:
    length = len(body)
    return bytes([field << 3 | 2, length & 127 | 128, length >> 7]) + body


@needs_scan
@pytest.mark.parametrize(
    "body",
    [
        span(trace=b""),
        span(trace=b"\x0a\x0f" + b"t" * 15),
        span(trace=b"\x0a\x10" + bytes(16)),
        span(own=b"\x12\x08" + bytes(8)),
        span(own=b"\x12\x09" + b"s" * 9),
        span(again=b"\x0a\x01t"),  # the last one counts
        span(parent=b"\x22\x07" + b"p" * 7),
        span(name=b"\x2a\x02\xc3\x28"),
        span(name=b"\x2a\x03\xed\xa0\x80"),  # a surrogate
        span(name=b"\x2a\x02\xc0\xaf"),  # not the shortest form
        span(name=b"\x2a\x04\xf4\x90\x80\x80"),  # beyond Unicode
        span(name=b"\x2a\x7f"),  # longer than what holds it
        span(name=b"\x28\x01"),  # of another type
        span(group=b"\x63\x64"),
        span(field0=b"\x02\x00"),
        span(status=b"\x7a\x00\x7a\x00"),  # the official parser merges them
        span(attribute=b"\x4a\x04\x12\x00\x12\x00"),
        span(attribute=b"\x4a\x07\x12\x05\x0a\x01x\x18\x07"),  # and takes the last of a oneof
        span(varint=b"\x30" + b"\xff" * 10 + b"\x01"),
        span(old=b"\xc2\x3e\x00"),
        b"\x0a",
        _inside(b"\xc2\x3e\x00", 1),  # where OTLP before 0.19 had its spans
    ],
)
def test_every_doubt_is_left_to_the_official_parser(body: bytes) -> None:
    assert scan.scan("traces", span()) == (1, 3)
    assert scan.scan("traces", body) is None


@needs_scan
@pytest.mark.parametrize("levels", [3, 20, 40, 45, 60, 100, 5_000])
def test_depth_is_bounded(levels: int) -> None:
    value = AnyValue(string_value="x").SerializeToString()
    for _ in range(levels):
        value = b"\x2a" + _length(inner := b"\x0a" + _length(value) + value) + inner
    pair = b"\x12" + _length(value) + value
    body = span(attributes=b"\x4a" + _length(pair) + pair) if levels < 20 else _deep(pair)
    assert agree("traces", body) == (levels <= 20)


def _deep(pair: bytes) -> bytes:
    body = b"\x0a\x10" + b"t" * 16 + b"\x12\x08" + b"s" * 8 + b"\x4a" + _length(pair) + pair
    for field in (0x12, 0x12, 0x0A):
        body = bytes([field]) + _length(body) + body
    return body


def _length(body: bytes) -> bytes:
    out, number = bytearray(), len(body)
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_without_the_scan_requests_are_judged_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [("traces", body) for body in samples()] + [("logs", a_log()), ("traces", span(own=b""))]
    secret = traces(1, key="sk-" + "a1" * 20).SerializeToString()
    bodies.append(("traces", secret))
    before = [admit.admit(signal, body, RULES, 1) for signal, body in bodies]  # type: ignore[arg-type]
    monkeypatch.setattr(scan, "native", None)
    assert [admit.admit(signal, body, RULES, 1) for signal, body in bodies] == before  # type: ignore[arg-type]
    assert before[-1].row is not None and before[-1].row.masked == 1
    assert before[-2].rejected == {"span_id must be 8 bytes and not all zero": 1}


def test_the_greatest_number_of_spans_holds_for_good_requests_too() -> None:
    with pytest.raises(admit.Refused, match="at most 2 are taken"):
        admit.admit("traces", traces(3).SerializeToString(), RULES._replace(max_items=2), 1)


def fuzz(folder: Path, mutations: int, seed: int) -> None:
    program = folder / "fuzz"
    flags = ["-std=c99", "-g", "-O1", "-Wall", "-Wextra", "-Werror"]
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    source = str(Path(__file__).with_name("fuzz_scan.c"))
    built = subprocess.run(["cc", *flags, *sanitize, source, "-o", str(program)], capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("no sanitizers here")
    assert built.returncode == 0, built.stderr
    bodies = {"traces": [*samples(), traces(4, text="ü" * 50 + "a" * 90).SerializeToString()], "logs": [a_log()]}
    for signal, found in bodies.items():
        (folder / "table").write_bytes(scan.table(signal))  # type: ignore[arg-type]
        names = [str(folder / f"{signal}{i}") for i in range(len(found))]
        for name, body in zip(names, found, strict=True):
            Path(name).write_bytes(body)
        share = mutations // 4 if signal == "logs" else mutations
        command = [str(program), str(share), str(seed), str(folder / "table"), *names]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) > share // 50


@needs_compiler
def test_no_mutant_leads_the_scan_astray(tmp_path: Path) -> None:
    fuzz(tmp_path, 50_000, seed=1)


@needs_compiler
@pytest.mark.full
def test_no_mutant_of_millions_leads_the_scan_astray(tmp_path: Path) -> None:
    fuzz(tmp_path, 4_000_000, seed=2)


def wheel(folder: Path, **environment: str) -> tuple[str, set[str]]:
    """The name of the built wheel and what is in it."""
    for name in ("pyproject.toml", "README.md", "LICENSE", "otelcov", "collector"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    assert shutil.which("uv") is not None
    command = ["uv", "build", "--wheel", "--python", sys.executable, "--out-dir", "dist"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=os.environ | environment)
    (made,) = (folder / "dist").glob("*.whl")
    return made.name, set(zipfile.ZipFile(made).namelist())


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv builds the wheel")
def test_without_a_compiler_the_package_is_pure_python(tmp_path: Path) -> None:
    name, files = wheel(tmp_path, CC="/nowhere/cc")
    assert name.endswith("-none-any.whl")
    assert {f for f in files if "_scan." in f} == {"collector/_scan.pyi"}
    assert "collector/scan.py" in files


@needs_compiler
@pytest.mark.skipif(shutil.which("uv") is None, reason="uv builds the wheel")
def test_with_a_compiler_the_scan_is_in_the_wheel(tmp_path: Path) -> None:
    name, files = wheel(tmp_path, CC="cc")
    assert not name.endswith("-any.whl")
    assert {f for f in files if "_scan." in f} == {"collector/_scan.pyi", "collector/_scan.abi3.so"}
