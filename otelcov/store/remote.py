"""Stores on an object store: what Delta and Polars are told to reach them, both the same.

Credentials, region and endpoint come from the usual variables (AWS_*, GOOGLE_*, AZURE_*); what they leave open the
libraries find out themselves (instance roles, profiles). Commits are safe by conditional puts: the second writer of a
version is refused.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from otelcov.ground import caches
from otelcov.ground.errors import UsageError, did_you_mean

_VARIABLES = {
    "s3": "AWS_",
    "s3a": "AWS_",
    "gs": "GOOGLE_",
    "az": "AZURE_",
    "abfs": "AZURE_",
    "abfss": "AZURE_",
}
# Whatever the environment says: without them two writers could both believe that they wrote a version.
_SAFE = {"AWS_": {"aws_conditional_put": "etag", "aws_s3_allow_unsafe_rename": "false"}}


def is_remote(store: str | Path) -> bool:
    return "://" in str(store)


def options(store: str | Path) -> dict[str, str] | None:
    """The storage options of a store or of anything in it; None for a folder."""
    scheme = str(store).partition("://")[0]
    if not is_remote(store) or scheme == "file":
        return None
    prefix = _VARIABLES.get(scheme)
    if prefix is None:
        known = ", ".join(f"{name}://" for name in _VARIABLES)
        raise UsageError(f"Couldn't use the store {store}: {known} or a folder.{did_you_mean(scheme, _VARIABLES)}")
    found = {name.lower(): value for name, value in os.environ.items() if name.startswith(prefix) and value}
    return found | _SAFE.get(prefix, {})


def read(url: str, path: str) -> bytes:
    """One object below a table, by the client that Delta itself uses; FileNotFoundError where there is none."""
    from deltalake._internal import DeltaFileSystemHandler  # its public face hands it buffers that it refuses

    there: Any = DeltaFileSystemHandler(url, options(url)).open_input_file(path)
    return bytes(there.read(there.size()))


def paths(url: str) -> list[str]:
    """What lies below an address."""
    from deltalake._internal import DeltaFileSystemHandler
    from deltalake.exceptions import TableNotFoundError

    try:
        there: Any = DeltaFileSystemHandler(url, options(url))
    except TableNotFoundError:  # a folder by its URL, which is still to be made
        return []
    return [found.path for found in there.get_file_info_selector("", allow_not_found=True, recursive=True)]


def write(url: str, path: str, pages: bytes) -> None:
    from deltalake._internal import DeltaFileSystemHandler

    there: Any = DeltaFileSystemHandler(url, options(url)).open_output_stream(path)
    there.write(pages)
    there.close()


def cache(store: str) -> Path:
    """Where this user keeps on this machine what can be computed from a remote store again."""
    from hashlib import sha256

    return caches.folder() / sha256(store.rstrip("/").encode()).hexdigest()[:16]
