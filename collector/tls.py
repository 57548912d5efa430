"""TLS of both servers."""

from __future__ import annotations

import ssl

from collector.config import CollectorConfig


def context(config: CollectorConfig, protocol: str) -> ssl.SSLContext | None:
    """None without a certificate. `protocol` is what is spoken inside (ALPN)."""
    if config.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(config.tls_cert, config.tls_key)
    context.set_alpn_protocols([protocol])
    if config.tls_client_ca is not None:
        context.load_verify_locations(config.tls_client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
