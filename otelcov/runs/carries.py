"""placeholder"""

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope


def scope_name(data: bytes | None) -> str | None:
    return InstrumentationScope.FromString(data).name or None if data else None
