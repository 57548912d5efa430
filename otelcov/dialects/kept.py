"""What was found out of the dialects, kept for the next process: one file in this user's cache, as long as the code is
the same.

    $XDG_CACHE_HOME/otelcov/dialects-<code>.pickle

It can be deleted at any time, and where it cannot be written every process finds out by itself. Like the modules that
Python compiles, it is read only where nobody else may have written it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import polars as pl

from otelcov.dialects.answers import Answer, Key
from otelcov.ground.caches import folder

_PACKAGE = Path(__file__).parents[1]
_CODE = ("dialects", "ground")  # of which an answer is made
_MOST, _FILES = 8, 3  # keys in a file, and files: one of each version that is in use
_ALIKE = 0.5  # of all columns of two keys
_DIGEST = hashlib.sha256().digest_size
_OTHERS = stat.S_IWGRP | stat.S_IWOTH

Asked = Mapping[str, list[Answer]]


@dataclass
class Kept:
    keys: frozenset[str]  # that some dialect reads
    asked: dict[Key, bytes]  # Asked, pickled: most are never looked at
    _read: dict[Key, dict[str, list[Answer]]] = field(default_factory=dict)

    def of(self, key: Key) -> dict[str, list[Answer]] | None:
        """What can tell anything of spans of that key, or of more: then some of it tells nothing."""
        found = min((each for each in self.asked if key <= each), key=lambda each: len(each.columns), default=None)
        if found is None:
            return None
        if found not in self._read:
            self._read[found] = pickle.loads(self.asked[found])
        return self._read[found]

    def wider(self, key: Key) -> Key:
        """The same and that which is most like it, where they have most in common: the next batch may be of both."""

        def alike(each: Key) -> float:
            return len(key.columns & each.columns) / len(key.columns | each.columns)

        nearest = max(self.asked, key=alike, default=key)
        return key | nearest if alike(nearest) > _ALIKE else key


def load() -> Kept | None:
    """None where nothing is kept of this code, or not as it was written."""
    with suppress(OSError, RuntimeError):  # there is none, or no home
        path = _path()
        about = path.stat()
        told = path.read_bytes()
        digest, told = told[:_DIGEST], told[_DIGEST:]
        if about.st_uid == os.getuid() and not about.st_mode & _OTHERS and hashlib.sha256(told).digest() == digest:
            return Kept(*pickle.loads(told))
    return None


def keep(before: Kept | None, keys: frozenset[str], key: Key, asked: Asked) -> None:
    """Add this to what was kept before; once in a process, for only its first spans wait for that."""
    global _done
    if _done:
        return
    _done = True
    with suppress(OSError, RuntimeError, pl.exceptions.PolarsError):  # a full disk, no home, say
        others = {each: told for each, told in before.asked.items() if not each <= key} if before else {}
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        told = pickle.dumps((keys, dict([*others.items(), (key, pickle.dumps(asked))][-_MOST:])))
        new.touch(0o600)
        new.write_bytes(hashlib.sha256(told).digest() + told)
        new.replace(path)
        files = sorted(path.parent.glob("dialects-*"), key=lambda file: file.stat().st_mtime)
        for old in files[:-_FILES]:
            old.unlink(missing_ok=True)


_done = False


def _path() -> Path:
    return folder() / f"dialects-{_code()}.pickle"


@cache
def _code() -> str:
    """Whether a module has changed, as Python tells it: by its time and size."""
    seen = hashlib.sha256(f"{pl.__version__} {pickle.HIGHEST_PROTOCOL}".encode())
    for name in _CODE:
        with os.scandir(_PACKAGE / name) as found:
            files = sorted((file.name, file.stat()) for file in found if file.name.endswith(".py"))
        for file, about in files:
            seen.update(f"{name}/{file} {about.st_mtime_ns} {about.st_size}\n".encode())
    return seen.hexdigest()[:16]
