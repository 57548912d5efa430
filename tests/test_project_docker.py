"""The compose set-up, checked without a Docker engine."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from collector.metrics import Metrics

ROOT = Path(__file__).parent.parent
DOCKER = ROOT / "examples" / "docker"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


def test_the_compose_file_follows_the_compose_specification():
    command = ["--builtin-schema", "vendor.compose-spec", str(ROOT / "docker-compose.yml")]
    result = CliRunner().invoke(check_jsonschema, command)
    assert result.exit_code == 0, result.output


def test_both_profiles_are_whole():
    for profile in ("minimal", "full"):
        names = {name for name, service in SERVICES.items() if profile in service["profiles"]}
        for name in names:
            assert set(SERVICES[name].get("depends_on", ())) <= names
    assert {n for n, s in SERVICES.items() if "minimal" in s["profiles"]} == {"otelcov", "agent"}


@each_service
def test_every_service_is_hardened(service):
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"].split(":")[0] not in ("0", "root")
    assert service["healthcheck"]["test"][0] == "CMD"


@each_service
def test_every_image_is_pinned_to_a_version(service):
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", service["image"])


@each_service
def test_ports_are_published_on_loopback_only(service):
    assert [p for p in service.get("ports", ()) if not p.startswith("127.0.0.1:")] == []


def test_services_of_one_profile_publish_different_ports():
    for profile in ("minimal", "full"):
        ports = [p.split(":")[1] for s in SERVICES.values() if profile in s["profiles"] for p in s.get("ports", ())]
        assert len(ports) == len(set(ports))


@each_service
def test_mounted_files_exist_and_are_read_only(service):
    for mount in service.get("volumes", ()):
        source, _, mode = mount.partition(":")
        if source.startswith("."):
            assert (ROOT / source).exists()
            assert mode.endswith(":ro")
        else:
            assert source in COMPOSE["volumes"]


def test_the_base_image_is_pinned_and_the_image_runs_as_nobody_special():
    lines = (DOCKER / "Dockerfile").read_text().splitlines()
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert all(re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", image) for image in images)
    assert "USER 10001:10001" in lines
    assert any(line.startswith("HEALTHCHECK") for line in lines)
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    assert all((ROOT / path).exists() for path in copied)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{path.removeprefix('./')}" for path in copied} <= set(ignored)


def test_alerts_and_dashboard_ask_for_metrics_that_exist():
    text = Metrics().render().decode()
    exposed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    for path in (ROOT / "collector/service.py", ROOT / "otelcov/cli/collect.py"):  # gauges that are read when asked
        exposed |= {f"otelcov_collector_{name}" for name in re.findall(r'\.watch\("(\w+)"', path.read_text())}
    asked = (DOCKER / "alerts.yml").read_text() + (DOCKER / "grafana/dashboards/otelcov.json").read_text()
    names = {re.sub(r"_bucket$", "", name) for name in re.findall(r"otelcov_\w+", asked)}
    assert names
    assert names <= exposed


def test_the_dashboard_is_provisioned():
    dashboard = json.loads((DOCKER / "grafana/dashboards/otelcov.json").read_text())
    sources = yaml.safe_load((DOCKER / "grafana/provisioning/datasources/prometheus.yml").read_text())
    uids = {source["uid"] for source in sources["datasources"]}
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} <= uids
    provider = yaml.safe_load((DOCKER / "grafana/provisioning/dashboards/otelcov.yml").read_text())["providers"][0]
    mounts = [m.split(":")[1] for m in SERVICES["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts


def promtool(*arguments):
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, cwd=DOCKER)


def test_promtool_accepts_the_rules_and_the_configuration():
    result = promtool("check", "rules", "alerts.yml")
    assert result.returncode == 0, result.stderr
    result = promtool("check", "config", "prometheus.yml")
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_alerts_fire(tmp_path):
    rules = {
        "rule_files": [str(DOCKER / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": 'up{job="otelcov"}', "values": "0x10"},
                    {"series": "otelcov_collector_inbox_errors_total", "values": "0+1x10"},
                ],
                "alert_rule_test": [
                    {
                        "eval_time": "5m",
                        "alertname": name,
                        "exp_alerts": [{"exp_labels": labels, "exp_annotations": {"summary": summary}}],
                    }
                    for name, labels, summary in (
                        (
                            "OtelcovDown",
                            {"severity": "critical", "job": "otelcov"},
                            "The otelcov collector does not answer; senders keep their spans only as long as their "
                            "queues hold.",
                        ),
                        (
                            "OtelcovInboxFails",
                            {"severity": "critical"},
                            "The inbox cannot be written (full disk, I/O error); nothing is acknowledged until it can.",
                        ),
                    )
                ],
            }
        ],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(rules))
    result = promtool("test", "rules", str(tmp_path / "test.yml"))
    assert result.returncode == 0, result.stdout + result.stderr
