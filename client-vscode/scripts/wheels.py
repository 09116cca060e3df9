"""Put the wheels of the server's private environment into a folder.

    .venv/bin/python client-vscode/scripts/wheels.py FOLDER [--with-dependencies]

Our own wheel always; with dependencies also every wheel that it needs on this machine with this
Python, each at the release and with the hash that requirements.lock names. Their names are taken
from the environment that this runs in, so nothing is resolved again and every choice is the
one that the tests ran with.
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
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
PACKAGE = "ralph-ls"


def main(arguments: list[str]) -> int:
    """Fill the folder; what was in it stays."""
    parser = argparse.ArgumentParser(prog="wheels.py", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--with-dependencies", action="store_true")
    asked = parser.parse_args(arguments)
    folder: Path = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    _run("-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    if asked.with_dependencies:
        with tempfile.TemporaryDirectory() as scratch:
            chosen = Path(scratch, "requirements.txt")
            chosen.write_text(locked_lines(dependencies()), encoding="utf-8")
            options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
            options += ["--quiet", "--require-hashes", "--requirement", str(chosen)]
            _run("-m", "pip", "download", *options, "--dest", str(folder))
    return 0


def dependencies() -> set[str]:
    """The normalised names of everything that our package needs here, itself left out."""
    found: set[str] = set()
    waiting = list(_required_by(PACKAGE))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_required_by(name))
    return found


def locked_lines(names: set[str]) -> str:
    """The entries of requirements.lock for these names, with their hashes.

    Raises ValueError where one is not in it.
    """
    entries = re.split(r"^(?=[A-Za-z0-9])", LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    by_name: dict[str, str] = {
        canonicalize_name(re.split(r"[=\[ ;]", entry, maxsplit=1)[0]): entry for entry in entries
    }
    if lacking := names - by_name.keys():
        raise ValueError(f"requirements.lock lacks {', '.join(sorted(lacking))}; run: make lock")
    return "".join(by_name[name] for name in sorted(names))


def _required_by(name: str) -> Iterator[str]:
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def _run(*arguments: str) -> None:
    # Their words go to stderr with the rest; stdout carries the result.
    subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=sys.stderr, check=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
