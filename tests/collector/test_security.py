"""Who may send, and what must not reach the disk."""

from __future__ import annotations

import socket
import ssl
import time
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector import config as configuration
from collector.config import BadConfig, CollectorConfig
from collector.redaction import Redaction, holds_secret, mask
from tests.collector.requests import PROTOBUF, call, logs, post, traces
from tests.collector.running import running

BODY = traces(1).SerializeToString()


def settings(**given: Any) -> CollectorConfig:
    return CollectorConfig(**{"store": "", "inbox": Path(), **given})


def test_a_bind_beyond_loopback_needs_authentication_or_an_explicit_word(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="without authentication"):
        configuration.check(settings(host="0.0.0.0"))
    configuration.check(settings(host="0.0.0.0", allow_unauthenticated=True))
    configuration.check(settings(host="0.0.0.0", token_env="T", environ={"T": "secret"}))
    for loopback in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        configuration.check(settings(host=loopback))


def test_settings_that_could_not_work_are_refused_before_the_start(tmp_path: Path) -> None:
    for given in (
        {"tls_cert": tmp_path / "c"},
        {"tls_client_ca": tmp_path / "c"},
        {"tls_cert": tmp_path / "c", "tls_key": tmp_path / "k"},
        {"token_file": tmp_path / "none"},
        {"token_env": "NOT_SET", "environ": {}},
        {"hash": ("x",), "environ": {}},
        {"content": "hash", "environ": {}},
    ):
        with pytest.raises(BadConfig):
            configuration.check(settings(**given))


def test_bearer_tokens_are_asked_for_on_both_transports(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("first-token\nsecond-token\n")
    with running(tmp_path, token_file=tmp_path / "tokens") as collector:
        for token in ("first-token", "second-token"):
            header = f"Bearer {token}"
            assert post(collector.http, BODY, {**PROTOBUF, "Authorization": header})[0] == 200
            assert call(collector.grpc, BODY, metadata=(("authorization", header),))[0] is grpc.StatusCode.OK
        for bad in ("Bearer nope", "first-token", "Basic first-token", ""):
            assert post(collector.http, BODY, {**PROTOBUF, "Authorization": bad})[0] == 401
            code, _, _ = call(collector.grpc, BODY, metadata=(("authorization", bad),))
            assert code is grpc.StatusCode.UNAUTHENTICATED
        status, _, headers = post(collector.http, BODY)
        assert status == 401 and headers["WWW-Authenticate"] == "Bearer"
        assert len(collector.rows()) == 4
        with urllib.request.urlopen(collector.url + "/healthz") as answer:
            assert answer.status == 200


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    server, client = authority.issue_cert("localhost", "127.0.0.1"), authority.issue_cert("agent@example.test")
    paths = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key", "client_cert", "client_key")}
    authority.cert_pem.write_to_path(paths["ca"])
    server.cert_chain_pems[0].write_to_path(paths["cert"])
    server.private_key_pem.write_to_path(paths["key"])
    client.cert_chain_pems[0].write_to_path(paths["client_cert"])
    client.private_key_pem.write_to_path(paths["client_key"])
    return paths


def https(port: int, context: ssl.SSLContext) -> int:
    request = urllib.request.Request(f"https://localhost:{port}/v1/traces", BODY, PROTOBUF)
    with urllib.request.urlopen(request, context=context, timeout=10) as answer:
        return int(answer.status)


def test_tls_on_both_transports(tmp_path: Path, certificates: dict[str, Path]) -> None:
    with running(tmp_path, tls_cert=certificates["cert"], tls_key=certificates["key"]) as collector:
        assert https(collector.http, ssl.create_default_context(cafile=certificates["ca"])) == 200
        credentials = grpc.ssl_channel_credentials(certificates["ca"].read_bytes())
        assert call(collector.grpc, BODY, credentials=credentials)[0] is grpc.StatusCode.OK
        assert len(collector.rows()) == 2


def test_mutual_tls_refuses_who_shows_no_certificate(tmp_path: Path, certificates: dict[str, Path]) -> None:
    ca = certificates["ca"]
    own = (certificates["client_key"].read_bytes(), certificates["client_cert"].read_bytes())
    with running(tmp_path, tls_cert=certificates["cert"], tls_key=certificates["key"], tls_client_ca=ca) as collector:
        context = ssl.create_default_context(cafile=ca)
        with pytest.raises((OSError, ssl.SSLError)):
            https(collector.http, context)
        context.load_cert_chain(certificates["client_cert"], certificates["client_key"])
        assert https(collector.http, context) == 200
        anonymous = grpc.ssl_channel_credentials(ca.read_bytes())
        assert call(collector.grpc, BODY, credentials=anonymous)[0] is grpc.StatusCode.UNAVAILABLE
        known = grpc.ssl_channel_credentials(ca.read_bytes(), *own)
        assert call(collector.grpc, BODY, credentials=known)[0] is grpc.StatusCode.OK
        assert len(collector.rows()) == 2


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        import asyncio

        from collector import service

        config = settings(inbox=tmp_path / "inbox", grpc_port=0, http_port=taken.getsockname()[1])
        with pytest.raises(OSError, match=r"Address already in use: '127\.0\.0\.1:[0-9]+ for HTTP'"):
            asyncio.run(service.serve(config))


SECRETS = {
    "openai": "sk-proj-abcDEF123456abcDEF123456",
    "anthropic": "sk-ant-api03-abcDEF123456abcDEF123456",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2" * 9,
    "github_fine": "github_pat_" + "a1B2c3" * 6,
    "gitlab": "glpat-abcdEFGH1234ijklMNOP",
    "slack": "xoxb-123456789012-abcdefGHIJ",
    "google": "AIza" + "b" * 35,
    "huggingface": "hf_" + "c" * 34,
    "npm": "npm_" + "d" * 36,
    "stripe": "sk_live_abcdEFGH1234ijkl",
    "sendgrid": "SG.abcdEFGH1234ijklMNOP.abcdEFGH1234ijklMNOP",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4",
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_well_known_secret_never_reaches_the_disk(secret: str) -> None:
    text = f'{{"key": "{secret}"}}'
    request = traces(1, prompt=text)
    redaction = Redaction(settings())
    assert redaction.concerns(request.SerializeToString())
    assert redaction.apply(request) == 1
    assert request.resource_spans[0].scope_spans[0].spans[0].attributes[0].value.string_value == '{"key": "[MASKED]"}'


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abc123def456ghi789", "Authorization: Bearer [MASKED]"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [MASKED]"),
        ("postgresql://me:hunter2@db/x", "postgresql://me:[MASKED]@db/x"),
        ("AccountKey=" + "Ab1+" * 20 + "==;", "AccountKey=[MASKED];"),
    ],
)
def test_what_surrounds_a_secret_stays(text: str, clean: str) -> None:
    assert mask(text.encode()) == (clean.encode(), 1)


@pytest.mark.parametrize(
    "text",
    [
        "task-1 of risk-22",
        "ask-the-user-for-more-information",
        "Bearer of bad news",
        "Basic responsibilities",
        "eyJust",
    ],
)
def test_ordinary_words_are_no_secrets(text: str) -> None:
    assert not holds_secret(text.encode()) and mask(text.encode()) == (text.encode(), 0)


def test_secrets_are_found_wherever_text_can_be(tmp_path: Path) -> None:
    key = SECRETS["openai"]
    request = traces(1)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.name = key
    span.status.message = key
    span.attributes.add(key="list").value.array_value.values.add().string_value = key
    span.attributes.add(key="map").value.kvlist_value.values.add(key="k").value.string_value = key
    span.attributes.add(key="raw").value.bytes_value = key.encode()
    span.events.add(name=key).attributes.add(key="k").value.string_value = key
    span.links.add(trace_id=bytes(16)).attributes.add(key="k").value.string_value = key
    request.resource_spans[0].resource.attributes.add(key="k").value.string_value = key
    request.resource_spans[0].scope_spans[0].scope.attributes.add(key="k").value.string_value = key
    record = logs(1)
    record.resource_logs[0].scope_logs[0].log_records[0].body.string_value = f"say {key}"
    with running(tmp_path) as collector:
        assert post(collector.http, request.SerializeToString())[0] == 200
        assert post(collector.http, record.SerializeToString(), path="/v1/logs")[0] == 200
        rows = collector.rows()
        assert [row.masked for row in rows] == [10, 1]
        assert all(key.encode() not in row.body for row in rows)
        for path in collector.inbox.rglob("*"):
            if path.is_file():
                assert key.encode() not in path.read_bytes()
        assert collector.metrics()["otelcov_collector_masked_values_total"] == 11


def test_headers_that_are_secrets_lose_their_whole_value() -> None:
    request = traces(1)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    header = span.attributes.add(key="http.request.header.authorization")
    header.value.array_value.values.add().string_value = "whatever"
    redaction = Redaction(settings())
    assert redaction.concerns(request.SerializeToString()) and redaction.apply(request) == 1
    assert span.attributes[0].value.string_value == "[MASKED]"


def test_drop_and_hash_follow_their_globs() -> None:
    request = traces(1, user__name="ann", user__mail="a@b", other="x", **{"db__statement": "select"})
    rules = Redaction(settings(drop=("user.n*",), hash=("user.mail", "db.*"), environ={"OTELCOV_HASH_KEY": "k"}))
    assert rules.concerns(request.SerializeToString())
    assert rules.apply(request) == 3
    left = {a.key: a.value.string_value for a in request.resource_spans[0].scope_spans[0].spans[0].attributes}
    assert set(left) == {"user.mail", "other", "db.statement"} and left["other"] == "x"
    assert left["user.mail"].startswith("hmac-sha256:") and "a@b" not in left["user.mail"]
    again = traces(1, user__mail="a@b")
    rules.apply(again)
    same = again.resource_spans[0].scope_spans[0].spans[0].attributes[0].value.string_value
    assert same == left["user.mail"]


@pytest.mark.parametrize("content", ["drop", "hash"])
def test_content_is_what_people_and_models_wrote(content: str) -> None:
    names = {"gen_ai__input__messages": "hi", "input__value": "hi", "gen_ai__request__model": "gpt", "long": "x" * 300}
    request, record = traces(1, **names), logs(1)
    rules = Redaction(settings(content=content, environ={"OTELCOV_HASH_KEY": "k"}))
    assert rules.apply(request) == 3 and rules.apply(record) == 1
    spans = request.resource_spans[0].scope_spans[0].spans[0].attributes
    left = {a.key: a.value.string_value for a in spans}
    assert left.pop("gen_ai.request.model") == "gpt"
    if content == "drop":
        assert left == {}
    else:
        assert set(left) == {"gen_ai.input.messages", "input.value", "long"}
        assert all(value.startswith("hmac-sha256:") for value in left.values())
    assert record.resource_logs[0].scope_logs[0].log_records[0].body.string_value != "said"


def test_masking_can_be_turned_off(tmp_path: Path) -> None:
    body = traces(1, prompt=SECRETS["aws"]).SerializeToString()
    with running(tmp_path, mask_secrets=False) as collector:
        assert post(collector.http, body)[0] == 200
        assert collector.rows()[0].body == body


@pytest.mark.parametrize(
    "hostile",
    [b"sk-" * 300_000, b"eyJ-" * 200_000, b" eyJaaaaaaaa." * 70_000, b"redis://x:" * 90_000, b"Bearer " * 130_000],
)
def test_no_text_makes_the_scan_slow(hostile: bytes) -> None:
    began = time.process_time()
    holds_secret(hostile)
    mask(hostile)
    assert time.process_time() - began < 3  # 0.2 s on an idle core


def test_what_holds_no_secret_is_kept_byte_for_byte(tmp_path: Path) -> None:
    body = traces(3, text="nothing to hide").SerializeToString() + b"\xfa\x3e\x03new"
    ExportTraceServiceRequest.FromString(body)
    with running(tmp_path) as collector:
        assert post(collector.http, body)[0] == 200
        assert collector.rows()[0].body == body
