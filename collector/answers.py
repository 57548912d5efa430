"""One verdict, said in gRPC, in HTTP with protobuf and in HTTP with JSON.

Throttling is UNAVAILABLE / 503 with a delay of one second: the Python SDK drops its data at once on longer ones, on
429 in old versions, and on 500. RetryInfo is sent twice over gRPC: inside `grpc-status-details-bin`, as the OTLP
specification has it, and alone as `google.rpc.retryinfo-bin`, which is what the Python exporter reads.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal, NamedTuple

from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

RETRY_SECONDS = 1

Path = Literal["traces", "logs", "metrics"]
_RESPONSES: dict[Path, tuple[Any, str]] = {
    "traces": (trace_service_pb2.ExportTraceServiceResponse, "rejected_spans"),
    "logs": (logs_service_pb2.ExportLogsServiceResponse, "rejected_log_records"),
    "metrics": (metrics_service_pb2.ExportMetricsServiceResponse, "rejected_data_points"),
}

# google.rpc.Code
OK, INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, UNAUTHENTICATED = (
    0,
    3,
    5,
    8,
    12,
    13,
    14,
    16,
)
HTTP_STATUS = {
    OK: 200,
    INVALID_ARGUMENT: 400,
    RESOURCE_EXHAUSTED: 413,
    INTERNAL: 500,
    UNAVAILABLE: 503,
    UNAUTHENTICATED: 401,
}


class Answer(NamedTuple):
    code: int = OK
    message: str = ""
    rejected: int = 0

    @property
    def retry(self) -> bool:
        return self.code == UNAVAILABLE


ACCEPTED = Answer()


def protobuf(path: Path, answer: Answer) -> bytes:
    """The Export…Response of a success, the Status of anything else."""
    if answer.code != OK:
        return status(answer)
    if not answer.message and not answer.rejected:
        return b""
    response, field = _RESPONSES[path]
    message = response()
    message.partial_success.error_message = answer.message
    setattr(message.partial_success, field, answer.rejected)
    return bytes(message.SerializeToString())


def as_json(path: Path, answer: Answer) -> bytes:
    if answer.code != OK:
        body: dict[str, object] = {"code": answer.code, "message": answer.message}
        if answer.retry:
            retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{RETRY_SECONDS}s"}
            body["details"] = [retry]
        return json.dumps(body).encode()
    if not answer.message and not answer.rejected:
        return b"{}"
    partial: dict[str, object] = {"errorMessage": answer.message}
    if answer.rejected:  # an int64 is a string in JSON
        partial = {_camel(_RESPONSES[path][1]): str(answer.rejected), **partial}
    return json.dumps({"partialSuccess": partial}).encode()


def status(answer: Answer) -> bytes:
    message = Status(code=answer.code, message=answer.message)
    if answer.retry:
        detail = AnyMessage()
        detail.Pack(RetryInfo.FromString(retry_info()))
        message.details.append(detail)
    return bytes(message.SerializeToString())


@cache
def retry_info() -> bytes:
    info = RetryInfo()
    info.retry_delay.seconds = RETRY_SECONDS
    return bytes(info.SerializeToString())


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
