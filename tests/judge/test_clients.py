"""Who can judge: any OpenAI-compatible server in three forms of typed answers, and Anthropic."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from tests.judge.ask import judge
from tests.judge.server import Reply, serving
from tests.judge.traffic import Said, store


@pytest.mark.parametrize("output", ["prompted", "native", "tool"])
def test_every_form_of_typed_answer_is_asked_for_and_read(tmp_path, output):
    asked = []

    def script(request):
        asked.append(request.body)
        answer = json.dumps({"reason": "r", "score": 4})
        if output != "tool":
            return Reply(answer)
        name = request.body["tools"][0]["function"]["name"]
        call = {"id": "t1", "type": "function", "function": {"name": name, "arguments": answer}}
        choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return Reply(body=json.dumps(body).encode())

    place = store(tmp_path, [Said("question", "answer")])
    with serving(script) as server:
        toml = f'[judge]\noutput = "{output}"\n'
        _, document = judge(place, "--metric", "helpfulness", toml=toml, url=server.url)
    assert document["metrics"][0]["value"] == 4.0
    assert ("tools" in asked[0]) == (output == "tool")
    kind = asked[0].get("response_format", {}).get("type")
    assert kind == {"prompted": "json_object", "native": "json_schema", "tool": None}[output]


def test_a_name_with_a_colon_is_a_local_servers_model(tmp_path):
    place = store(tmp_path, [Said("question", "answer")])
    with serving() as server:
        judge(place, "--metric", "helpfulness", "--judge-model", "llama3:8b", url=server.url)
    assert [r.body["model"] for r in server.requests] == ["llama3:8b"]


@pytest.mark.full
def test_anthropic_judges_too(tmp_path):
    pytest.importorskip("anthropic")
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            got.append((self.path, dict(self.headers), body))
            answer = {
                "id": "m1",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [{"type": "text", "text": json.dumps({"reason": "r", "score": 5})}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 100, "output_tokens": 20},
            }
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    place = store(tmp_path, [Said("question", "answer")])
    url = f"http://127.0.0.1:{server.server_address[1]}"
    args = ["judge", "--store", str(place), "--since", "all", "--metric", "helpfulness", "--format", "json"]
    try:
        result = CliRunner().invoke(
            app,
            [*args, "--judge-model", "anthropic:claude-scripted", "--base-url", url],
            env={"ANTHROPIC_API_KEY": "k"},
        )
    finally:
        server.shutdown()
        server.server_close()
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["metrics"][0]["value"] == 5.0
    ((path, headers, body),) = got
    assert (path.partition("?")[0], body["model"]) == ("/v1/messages", "claude-scripted")
    assert {"k", "Bearer k"} & set(headers.values())
