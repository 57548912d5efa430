"""Equal installs anywhere, without addresses: constraints and lock name the same version of everything."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS = {canonicalize_name(r.name): r for r in map(Requirement, PROJECT["tool"]["uv"]["constraint-dependencies"])}
LOCK = (ROOT / "requirements.lock").read_text()
LOCKED = {
    canonicalize_name(r.name): r
    for r in (Requirement(line.rstrip("\\ ")) for line in LOCK.splitlines() if re.match(r"[A-Za-z]", line))
}
ADVICE = "run `uv lock && .ci/pins` and commit pyproject.toml and requirements.lock"


def test_the_lock_and_the_constraints_name_the_same_versions():
    assert {n: str(r.specifier) for n, r in LOCKED.items()} == {n: str(r.specifier) for n, r in PINS.items()}, ADVICE


def test_every_pin_is_one_exact_version():
    assert [str(r) for r in PINS.values() if not re.fullmatch(r"==[\w.+!]+", str(r.specifier)) or r.marker] == []


def test_every_locked_version_has_hashes():
    blocks = re.split(r"\n(?=[A-Za-z])", LOCK.strip())
    assert [b.splitlines()[0] for b in blocks if "--hash=sha256:" not in b] == []


def test_nothing_names_an_address():
    text = LOCK + (ROOT / "pyproject.toml").read_text()
    assert "://" not in text
    assert " @ " not in text


def test_every_dependency_is_pinned_transitive_ones_too():
    declared = [
        *PROJECT["project"]["dependencies"],
        *(r for extra in PROJECT["project"]["optional-dependencies"].values() for r in extra),
        *(r for group in PROJECT["dependency-groups"].values() for r in group),
    ]
    missing = {canonicalize_name(Requirement(r).name) for r in declared} - set(PINS)
    assert missing == set(), ADVICE
    installed = {canonicalize_name(d.name): d for d in distributions()}
    for name in sorted(set(installed) & set(PINS)):
        for text in installed[name].requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in PINS, f"{name} needs {needed.name}: {ADVICE}"


def test_what_is_installed_here_is_what_is_pinned():
    installed = {canonicalize_name(d.name): d.version for d in distributions()}
    assert {n: v for n, v in installed.items() if n in PINS and v not in PINS[n].specifier} == {}, "run `uv sync`"


def test_the_build_backend_is_pinned():
    assert all(re.fullmatch(r"\w+==[\d.]+", r) for r in PROJECT["build-system"]["requires"])


def test_uv_lock_is_not_committed():
    assert "uv.lock" in (ROOT / ".gitignore").read_text().split()
