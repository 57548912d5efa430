import datetime
import socket
from pathlib import Path

import pytest
import trustme

from otelcov.cli import checks
from otelcov.ground.config import Collect


def statuses(findings):
    return [finding.status for finding in findings]


@pytest.fixture
def taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_free_port_is_good_and_a_taken_one_failed(taken):
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        free = trial.getsockname()[1]
    good, bad = checks.ports(Collect(grpc_port=free, http_port=taken))
    assert good.status == "ok"
    assert bad.status == "failed"
    assert str(taken) in bad.text
    assert "--http-port" in bad.advice


def test_port_zero_needs_no_check():
    assert statuses(checks.ports(Collect(grpc_port=0, http_port=0))) == ["ok", "ok"]


@pytest.fixture
def certificate(tmp_path):
    def make(expires=None):
        issued = trustme.CA().issue_cert("127.0.0.1", not_after=expires)
        issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
        issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
        return {"tls_cert": tmp_path / "cert.pem", "tls_key": tmp_path / "key.pem"}

    return make


def test_a_pair_of_certificate_and_key_is_good(certificate):
    (finding,) = checks.tls(Collect(**certificate()))
    assert finding.status == "ok"
    assert "valid for" in finding.text


def test_a_certificate_that_ends_soon_is_a_warning_and_an_ended_one_failed(certificate):
    now = datetime.datetime.now(datetime.UTC)
    (soon,) = checks.tls(Collect(**certificate(now + datetime.timedelta(days=3, hours=1))))
    assert (soon.status, soon.text) == ("warning", "the certificate ends in 3 days")
    (ended,) = checks.tls(Collect(**certificate(now - datetime.timedelta(days=1))))
    assert ended.status == "failed"
    assert "expired" in ended.text


def test_a_key_of_another_certificate_is_found(certificate, tmp_path):
    given = certificate()
    trustme.CA().issue_cert("127.0.0.1").private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    (finding,) = checks.tls(Collect(**given))
    assert finding.status == "failed"


def test_with_client_authority_it_says_that_clients_must_show_one(certificate, tmp_path):
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    (finding,) = checks.tls(Collect(**certificate(), tls_client_ca=tmp_path / "ca.pem"))
    assert finding.status == "ok"
    assert "clients must show a certificate" in finding.text


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ({}, "ok"),
        ({"host": "0.0.0.0"}, "failed"),
        ({"host": "0.0.0.0", "allow_unauthenticated": True}, "warning"),
        ({"host": "0.0.0.0", "token_env": "THE_TOKEN"}, "ok"),
        ({"token_env": "NOT_SET"}, "failed"),
        ({"token_file": Path("missing.txt")}, "failed"),
    ],
)
def test_who_may_send_is_judged(settings, status, monkeypatch):
    monkeypatch.setenv("THE_TOKEN", "x")
    assert statuses(checks.access(Collect(**settings))) == [status]


def test_the_disk_is_measured_where_the_store_will_be(tmp_path):
    room, fsync = checks.disk(tmp_path / "not" / "there" / "yet")
    assert str(tmp_path) in room.text
    assert "fsync takes" in fsync.text
    assert not (tmp_path / "not").exists()


def test_a_span_goes_through_a_collector_and_comes_back():
    assert statuses(checks.round_trip()) == ["ok", "ok", "note"]


@pytest.mark.parametrize(("native", "status"), [(lambda table, body: None, "ok"), (None, "note")])
def test_admission_without_its_part_in_c_is_noted(monkeypatch, native, status):
    monkeypatch.setattr("collector.scan.native", native)
    assert statuses(checks.admission()) == [status]
