"""Packs recordings for the tests: `python -m tests.captures.pack FOLDER DEST [--only SUBSTRING]`.

Archives are the same bytes for the same recordings. What names the recording machine is replaced by something of the
same length, so that protobuf stays readable.
"""

from __future__ import annotations

import argparse
import io
import lzma
import tarfile
from pathlib import Path

from tests.captures import BODY


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("dest", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--hide", nargs=2, action="append", default=[], metavar=("TEXT", "INSTEAD"))
    asked = parser.parse_args()
    hidden = [(text.encode(), instead.encode()) for text, instead in asked.hide]
    if any(len(text) != len(instead) for text, instead in hidden):
        parser.error("--hide needs two texts of one length")
    asked.dest.mkdir(parents=True, exist_ok=True)
    for dialect in sorted(p for p in asked.folder.iterdir() if asked.only in p.name and any(p.glob("*/truth.json"))):
        (asked.dest / f"{dialect.name}.tar.xz").write_bytes(pack(dialect, hidden))


def pack(dialect: Path, hidden: list[tuple[bytes, bytes]]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for truth in sorted(dialect.glob("*/truth.json")):
            for path in sorted(truth.parent.iterdir()):
                if BODY.fullmatch(path.name) or path.name in ("truth.json", "trace_index.json"):
                    body = path.read_bytes()
                    for text, instead in hidden:
                        body = body.replace(text, instead)
                    member = tarfile.TarInfo(f"{truth.parent.name}/{path.name}")
                    member.size = len(body)
                    archive.addfile(member, io.BytesIO(body))
    return lzma.compress(raw.getvalue(), preset=9 | lzma.PRESET_EXTREME)


if __name__ == "__main__":
    main()
