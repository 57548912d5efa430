"""Builds collector._scan where a C compiler and Python's headers are at hand; elsewhere the package is pure Python."""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCE, _BUILT = "collector/_scan.c", "collector/_scan.abi3.so"
_FLAGS = ["-std=c99", "-O3", "-fPIC", "-shared", "-DNDEBUG", "-fstack-protector-strong"]


class ScanBuildHook(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        if build(root / _SOURCE, root / _BUILT):
            build_data["artifacts"].append(_BUILT)
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


def build(source: Path, to: Path) -> bool:
    """Whether it worked. What an earlier build left is gone either way: it may be of another source."""
    if os.name != "posix":
        return False
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    undefined = ["-undefined", "dynamic_lookup"] if sysconfig.get_platform().startswith("macosx") else []
    headers = f"-I{sysconfig.get_path('include')}"
    try:
        to.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=to.parent, prefix=".build-") as folder:
            made = Path(folder) / to.name
            command = [*compiler, *_FLAGS, *undefined, headers, str(source), "-o", str(made)]
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
            if done.returncode or not made.is_file():
                return False
            made.replace(to)
            return True
    except (OSError, subprocess.TimeoutExpired):
        return False
