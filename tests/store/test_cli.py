"""`otelcov import` and `otelcov prune`, as they are typed."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner, Result

from collector.inbox import Inbox
from otelcov.cli.commands import app
from otelcov.store import scan
from tests.store.otlp import HOUR, NOW, log_request, span, trace_request, traces


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"NO_COLOR": "1", "COLUMNS": "200"})


def json_request(*spans: dict[str, object]) -> str:
    document = MessageToDict(ExportTraceServiceRequest.FromString(trace_request(*spans)))
    for made in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key, size in (("traceId", 16), ("spanId", 8)):
            which = spans[0]["trace" if key == "traceId" else "id"]
            assert isinstance(which, int)
            made[key] = which.to_bytes(size, "big").hex()
    return json.dumps(document)


def ids(store: Path) -> list[int]:
    return sorted(int.from_bytes(i, "big") for i in scan.spans(store).collect()["span_id"])


def test_import_reads_every_kind_of_file_in_folders(tmp_path: Path) -> None:
    files, store = tmp_path / "files", tmp_path / "store"
    (files / "deep").mkdir(parents=True)
    (files / "a.pb").write_bytes(trace_request(span(1, start=HOUR)))
    (files / "deep" / "b.binpb.gz").write_bytes(gzip.compress(trace_request(span(2))) + gzip.compress(b""))
    (files / "deep" / "my-logs.binpb").write_bytes(log_request("x"))
    (files / "c.json").write_text(json_request(span(3)))
    (files / "d.jsonl").write_text(json_request(span(4)) + "\n\n" + json_request(span(5)) + "\n")
    (files / "e.json").write_text(json_request(span(6)) + "\n" + json_request(span(7)))  # the Collector's file exporter
    (files / "f.json").write_text('{"resourceMetrics": []}')
    (files / "truth.json").write_text('{"runs": 3}')
    (files / "notes.txt").write_text("not looked at")
    said = run("import", files, "--store", store)
    assert said.exit_code == 0
    assert said.stdout == ""
    assert said.stderr == (
        f"{files}/truth.json: not OTLP, skipped: no resourceSpans, resourceLogs or resourceMetrics at its top\n"
        f"Imported 7 spans, 1 log record, 1 request of metrics skipped from 7 files into {store}.\n"
    )
    assert ids(store) == [1, 2, 3, 4, 5, 6, 7]
    assert scan.logs(store).collect().height == 1
    assert list((store / "inbox").iterdir()) == []

    assert run("import", files, "--store", store).exit_code == 0
    assert ids(store) == [1, 2, 3, 4, 5, 6, 7]
    assert scan.quality(store).duplicates == 7


def test_a_file_of_json_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    files, store = tmp_path / "files", tmp_path / "store"
    files.mkdir()
    (files / "a.json").write_text(json_request(span(1)), encoding="utf-8-sig")
    (files / "b.jsonl").write_text(json_request(span(2)) + "\n" + json_request(span(3)), encoding="utf-8-sig")
    assert run("import", files, "--store", store).exit_code == 0
    assert ids(store) == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("a.json", b"{", "the body is not JSON"),
        ("a.jsonl", b"[1]\n", "line 1: no resourceSpans"),
        ("a.pb", b"", "it is empty"),
        ("a.jsonl", b"no\n", "line 1: the body is not JSON"),
        ("a.pb", b"\xff\xff", "not an OTLP traces request"),
        ("a.pb.gz", b"plain", "it cannot be unpacked"),
        ("a.txt", b"x", "its name ends in none of"),
    ],
)
def test_what_is_no_otlp_is_named_and_exits_with_3(tmp_path: Path, name: str, body: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(body)
    said = run("import", tmp_path / name, "--store", tmp_path / "store")
    assert said.exit_code == 3
    assert said.stderr.startswith(f"{tmp_path / name}: not OTLP, skipped: ")
    assert why in said.stderr
    assert said.stderr.endswith("No file held OTLP.\n")
    assert len(said.stderr.splitlines()) == 2


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    said = run("import", tmp_path / "none.pb", "--store", tmp_path / "store")
    assert (said.exit_code, said.stderr) == (
        2,
        f"Couldn't find {tmp_path / 'none.pb'}. Give OTLP files, or folders of them.\n",
    )


def test_import_rejects_bad_spans_as_the_collector_does(tmp_path: Path) -> None:
    request = ExportTraceServiceRequest.FromString(trace_request(span(1), span(2)))
    request.resource_spans[0].scope_spans[0].spans[0].trace_id = b"short"
    (tmp_path / "a.pb").write_bytes(request.SerializeToString())
    said = run("import", tmp_path / "a.pb", "--store", tmp_path / "store")
    assert said.exit_code == 0
    assert "trace_id must be 16 bytes" in said.stderr
    assert "Imported 1 span, 0 log records, 1 rejected from 1 file" in said.stderr
    assert ids(tmp_path / "store") == [2]


def test_import_masks_what_the_collector_would(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_bytes(trace_request(span(1, password="hunter2", kept="x")))
    (tmp_path / "otelcov.toml").write_text('[collect]\ndrop = ["pass*"]\n')
    config = ["--config", tmp_path / "otelcov.toml"]
    assert run("import", tmp_path / "a.pb", "--store", tmp_path / "store", *config).exit_code == 0
    (attributes,) = scan.spans(tmp_path / "store").collect()["attributes"]
    assert [kv["key"] for kv in attributes] == ["kept"]
    assert scan.quality(tmp_path / "store").masked == 1


@pytest.mark.parametrize("words", [("--older-than", "2d"), ("--trace", f"{2:032x}")])
def test_a_disk_that_prune_may_not_write_is_an_error_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]
) -> None:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    (tmp_path / "a.pb").write_bytes(trace_request(span(1), span(2, trace=2)))
    assert run("import", tmp_path / "a.pb", "--store", tmp_path).exit_code == 0

    def refused(self: DeltaTable) -> None:
        raise DeltaError("Permission denied (os error 13)")

    monkeypatch.setattr(DeltaTable, "create_checkpoint", refused)
    said = run("prune", "--store", tmp_path, *words)
    assert (said.exit_code, said.stdout) == (4, "")
    assert said.stderr.endswith("spans: Permission denied (os error 13). Is the folder writable?\n")


def test_prune_removes_old_hours_and_erases_traces(tmp_path: Path) -> None:
    rows = [span(1, start=NOW - 50 * HOUR), span(2, trace=2), span(3, trace=3), span(4, trace=4)]
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(*rows)])
    box.close()
    said = run("prune", "--older-than", "2d", "--store", tmp_path)
    assert said.exit_code == 4  # an inbox alone is no store
    (tmp_path / "a.pb").write_bytes(trace_request(*rows))
    assert run("import", tmp_path / "a.pb", "--store", tmp_path).exit_code == 0

    assert run("prune", "--store", tmp_path).exit_code == 2
    assert run("prune", "--store", tmp_path, "--trace", "xyz").exit_code == 2
    said = run("prune", "--store", tmp_path, "--trace", f"{2:032x}", "--trace", f"{3:032x}")
    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr.startswith("Erased 2 traces: ")
    assert ids(tmp_path) == [1, 4]
    said = run("prune", "--store", tmp_path, "--older-than", "2d")
    assert said.stderr.startswith("Removed 2 spans, 0 log records from before ")  # two copies
    assert ids(tmp_path) == [4]


def test_prune_erases_a_conversation(tmp_path: Path) -> None:
    rows = [span(n, trace=n, **{"gen_ai.conversation.id": f"c{n}"}) for n in (1, 2)]
    (tmp_path / "a.pb").write_bytes(trace_request(*rows))
    run("import", tmp_path / "a.pb", "--store", tmp_path)
    said = run("prune", "--store", tmp_path, "--conversation", "c1")
    assert (said.exit_code, said.stderr) == (0, "Erased 1 trace: 1 span, 0 log records.\n")
    assert ids(tmp_path) == [2]
    assert run("prune", "--store", tmp_path, "--conversation", "c1").stderr == "No trace names this conversation.\n"


def test_prune_needs_a_store_that_exists(tmp_path: Path) -> None:
    said = run("prune", "--store", tmp_path / "none", "--older-than", "30d")
    assert said.exit_code == 4
    assert "There is no store in" in said.stderr


@pytest.mark.parametrize("where", ["control.create", "segment.append"])
def test_a_full_disk_is_said_and_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    (tmp_path / "a.pb").write_bytes(trace_request(span(1)))
    monkeypatch.setattr(f"collector.inbox.{where}", full)
    said = run("import", tmp_path / "a.pb", "--store", tmp_path / "store")
    assert said.exit_code == 4
    assert "Couldn't import into" in said.stderr and "database or disk is full. Is the disk full?" in said.stderr
    assert not list((tmp_path / "store" / "inbox").glob(".*"))
    if where == "control.create":
        said = run("collect", "--store", tmp_path / "store", "--grpc-port", 0, "--http-port", 0)
        assert said.exit_code == 4
        assert said.stderr.startswith("The collector does not start: could not create an inbox")
    monkeypatch.undo()
    assert run("import", tmp_path / "a.pb", "--store", tmp_path / "store").exit_code == 0
    assert ids(tmp_path / "store") == [1]
