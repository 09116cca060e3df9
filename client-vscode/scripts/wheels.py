"""Put the wheels of the server's private environment into a folder.

    .venv/bin/python client-vscode/scripts/wheels.py FOLDER [--with-dependencies | --target NAME]

Our own wheel always; with dependencies also every wheel that it needs on this machine with this
Python, each at the release and with the hash that requirements.lock names. Their names are taken
from the environment that this runs in, so nothing is resolved again and every choice is the
one that the tests ran with.

For a target, such as ``darwin-arm64``, the wheels for every supported Python on that platform:
uv evaluates the markers for it, which ``pip download`` would evaluate for this machine.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
PACKAGE = "ralph-ls"

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TARGETS = {
    "linux-x64": ("x86_64-manylinux_2_28", ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64")),
    "linux-arm64": ("aarch64-manylinux_2_28", ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64")),
    "darwin-x64": ("x86_64-apple-darwin", ("macosx_12_0_x86_64",)),
    "darwin-arm64": ("aarch64-apple-darwin", ("macosx_12_0_arm64",)),
    "win32-x64": ("x86_64-pc-windows-msvc", ("win_amd64",)),
}
"""VS Code's name of a platform: uv's name, and the tags of its wheels besides ``any``.

Alpine Linux is not among them: a dependency has no wheel for it.
"""


def main(arguments: list[str]) -> int:
    """Fill the folder; what was in it stays."""
    parser = argparse.ArgumentParser(prog="wheels.py", description=__doc__)
    parser.add_argument("folder", type=Path)
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--with-dependencies", action="store_true")
    extent.add_argument("--target", choices=TARGETS)
    asked = parser.parse_args(arguments)
    folder: Path = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    _run("-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    if asked.target:
        for python in PYTHONS:
            fetch_for(asked.target, python, folder)
    if asked.with_dependencies:
        with tempfile.TemporaryDirectory() as scratch:
            chosen = Path(scratch, "requirements.txt")
            chosen.write_text(locked_lines(dependencies()), encoding="utf-8")
            _download(chosen, folder)
    return 0


def fetch_for(target: str, python: str, folder: Path) -> None:
    """Fetch what our package needs on that platform with that Python, as locked."""
    platform, tags = TARGETS[target]
    with tempfile.TemporaryDirectory() as scratch:
        chosen = Path(scratch, "requirements.txt")
        resolve = ["pip", "compile", "pyproject.toml", "--constraint", str(LOCK), "--quiet"]
        resolve += ["--python-platform", platform, "--python-version", python]
        resolve += ["--only-binary", ":all:", "--generate-hashes", "--no-header"]
        _run("-m", "uv", *resolve, "--output-file", str(chosen))
        entries = entries_by_name(chosen.read_text(encoding="utf-8"))
        lacking = entries.keys() - _names_for_every_python(folder)
        chosen.write_text("".join(entries[name] for name in sorted(lacking)), encoding="utf-8")
        options = ["--python-version", python, "--implementation", "cp"]
        options += ["--abi", f"cp{python.replace('.', '')}", "--abi", "abi3", "--abi", "none"]
        for tag in tags:
            options += ["--platform", tag]
        _download(chosen, folder, *options)


def _download(requirements: Path, folder: Path, *options: str) -> None:
    always = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
    always += ["--require-hashes", "--requirement", str(requirements), "--dest", str(folder)]
    _run("-m", "pip", "download", *always, *options)


def dependencies() -> set[str]:
    """The normalised names of everything that our package needs here, itself left out."""
    found: set[str] = set()
    waiting = [(PACKAGE, "")]
    seen = set(waiting)
    while waiting:
        new = set(_required_by(*waiting.pop())) - seen
        seen |= new
        waiting.extend(new)
        found.update(name for name, _ in new)
    return found


def locked_lines(names: set[str]) -> str:
    """The entries of requirements.lock for these names, with their hashes.

    Raises ValueError where one is not in it.
    """
    entries = entries_by_name(LOCK.read_text(encoding="utf-8"))
    if lacking := names - entries.keys():
        raise ValueError(f"requirements.lock lacks {', '.join(sorted(lacking))}; run: make lock")
    return "".join(entries[name] for name in sorted(names))


def entries_by_name(text: str) -> dict[str, str]:
    """The entries of a file of requirements, with their hashes, by normalised name."""
    entries = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    return {canonicalize_name(re.split(r"[=\[ ;]", one, maxsplit=1)[0]): one for one in entries}


def _names_for_every_python(folder: Path) -> set[str]:
    """The packages of which the folder has a wheel that no other Python needs another of."""
    wheels = [parse_wheel_filename(path.name) for path in folder.glob("*.whl")]
    return {
        name
        for name, _, _, tags in wheels
        if all(tag.interpreter.startswith("py") or tag.abi == "abi3" for tag in tags)
    }


def _required_by(package: str, extra: str) -> Iterator[tuple[str, str]]:
    """What a package, or one of its extras, requires: names, with and without each extra."""
    for text in distribution(package).requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = canonicalize_name(requirement.name)
            yield name, ""
            yield from ((name, extra) for extra in sorted(requirement.extras))


def _run(*arguments: str) -> None:
    # Their words go to stderr with the rest; stdout carries the result.
    subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=sys.stderr, check=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
