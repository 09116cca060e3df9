"""Builds everything that a release holds, from a clean checkout, and tries each in an empty place.

    .venv/bin/python .ci/artifacts.py [--release VERSION] [--source FOLDER]

What is committed at HEAD of the source (this repository, if none is named) is built twice in two
folders and has to have the same bytes. Then dist/ holds the wheel, the source archive, the
extension without dependencies and for each platform, the bills of materials and SHA256SUMS.
For a release the version has to be the named one and ``RALPH_REPOSITORY_URL`` has to be set.
Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from metadata_hook import VARIABLE, repository_url
from try_artifacts import try_all

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
RELEASE_TOOLS = ROOT / ".venv-release" / ("Scripts" if os.name == "nt" else "bin")
Command = Sequence[str | Path]
TARGETS = ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64")
"""The platforms that have an extension each: client-vscode/scripts/wheels.py has their tags."""


def main() -> int:
    """Build and try; 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(prog="artifacts.py", description=__doc__)
    parser.add_argument("--release", metavar="VERSION")
    parser.add_argument("--source", type=Path, default=ROOT)
    options = parser.parse_args()
    started = time.monotonic()
    os.umask(0o022)
    try:
        if options.release:
            require_address()
        with tempfile.TemporaryDirectory(prefix="ralph-release-") as scratch:
            version = make(options.source, Path(scratch), options.release)
            problems = try_all(DIST, version, Path(scratch), RELEASE_TOOLS)
    except (ValueError, subprocess.CalledProcessError) as error:
        problems = [str(error)]
    for problem in problems:
        print(f"release: {problem}", file=sys.stderr)
    print(f"\n{'FAILED' if problems else 'ready'} after {time.monotonic() - started:.0f} s: dist/")
    return 1 if problems else 0


def require_address() -> None:
    """Raises ValueError where the repository's address is not set, or none."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        raise ValueError(
            f"a release needs the address of its repository: set {VARIABLE}, such as"
            " https://host/owner/name"
        )
    repository_url(given)


def make(source: Path, scratch: Path, release: str | None) -> str:
    """Fill dist/ from two builds of the source's HEAD; the version that it holds.

    Raises ValueError where the builds differ or the version is another.
    """
    sources = [check_out(source, scratch / name) for name in ("one", "two")]
    version = read_version(sources[0])
    if release not in (None, version):
        raise ValueError(f"the source is at version {version}, and {release} is to be released")
    _say(f"building {version}")
    node_modules = install_node_modules(sources[0])
    (sources[1] / "client-vscode" / "node_modules").symlink_to(node_modules)
    wheels = fetch_wheels(sources[0], scratch / "wheels")
    for number, checkout in enumerate(sources):
        build(checkout, scratch / f"dist{number}", wheels)
    first, second = (digests(scratch / f"dist{number}") for number in (0, 1))
    if differing := sorted(name for name in first if first[name] != second.get(name)):
        raise ValueError(f"not reproducible: {', '.join(differing)}")
    _say("reproducible: two builds in two folders have the same bytes")
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(scratch / "dist0", DIST)
    [wheel] = DIST.glob("*.whl")
    _run([RELEASE_TOOLS / "check-wheel-contents", wheel], cwd=sources[0])
    write_bills(sources[0], version, wheels["linux-x64"], scratch)
    write_checksums()
    return version


def check_out(source: Path, folder: Path) -> Path:
    """A clone of what is committed, and nothing else."""
    commit = _output(["git", "rev-parse", "HEAD"], cwd=source)
    if _output(["git", "status", "--porcelain"], cwd=source):
        _say("uncommitted changes are not part of it")
    _run(["git", "clone", "--quiet", "--shared", "--no-checkout", source, folder], cwd=source)
    _run(["git", "checkout", "--quiet", "--detach", commit], cwd=folder)
    return folder


def read_version(checkout: Path) -> str:
    """The version of the package, by the build backend itself."""
    return _output([sys.executable, "-m", "hatchling", "version"], cwd=checkout)


def install_node_modules(checkout: Path) -> Path:
    """The packages of the extension's lock."""
    client = checkout / "client-vscode"
    npm = ["npm", "ci", "--silent", "--no-audit", "--no-fund"]
    _run([sys.executable, client / "scripts" / "with_node.py", *npm], cwd=client)
    return client / "node_modules"


def fetch_wheels(checkout: Path, folder: Path) -> dict[str, Path]:
    """The wheels of every target, each in a folder, with our own."""
    script = checkout / "client-vscode" / "scripts" / "wheels.py"

    def fetch(target: str) -> tuple[str, Path]:
        wheels = folder / target
        started = time.monotonic()
        _run([sys.executable, script, wheels, "--target", target], checkout, _environment(checkout))
        size = sum(path.stat().st_size for path in wheels.iterdir()) / 1e6
        _say(f"{target}: {size:.0f} MB of wheels ({time.monotonic() - started:.0f} s)")
        return target, wheels

    with ThreadPoolExecutor(3) as pool:
        return dict(pool.map(fetch, TARGETS))


def build(checkout: Path, dist: Path, wheels: Mapping[str, Path]) -> None:
    """The packages of one checkout, dated by its commit."""
    environment = _environment(checkout)
    hatchling: Command = [sys.executable, "-m", "hatchling", "build", "--directory", dist]
    _run(hatchling, checkout, environment)
    scripts = checkout / "client-vscode" / "scripts"
    package: Command = [sys.executable, scripts / "with_node.py", "node", scripts / "package.mjs"]
    version = read_version(checkout)
    for target in (None, *TARGETS):
        infix = f"{target}-" if target else ""
        options: Command = ["--target", target, "--wheels", wheels[target]] if target else []
        name = dist / f"ralph-loop-{infix}{version}.vsix"
        _run([*package, *options, "--out", name], checkout, environment)


def write_bills(checkout: Path, version: str, wheels: Path, scratch: Path) -> None:
    """What is in the package and in the extension, as CycloneDX."""
    # Made by uv, since one made by venv would list pip.
    environment = scratch / "bill"
    uv = [sys.executable, "-m", "uv"]
    _run([*uv, "venv", "--quiet", environment], cwd=checkout)
    install: Command = ["pip", "install", "--quiet", "--no-index", "--find-links", wheels]
    _run([*uv, *install, "--python", environment, "ralph-ls"], cwd=checkout)
    # What it is for: our own pyproject.toml leaves the version to the build backend.
    subject = scratch / "subject.toml"
    project = f'[project]\nname = "ralph-ls"\nversion = "{version}"\nlicense = "MIT"\n'
    subject.write_text(project, encoding="utf-8")
    options: Command = ["--output-reproducible", "--of", "JSON", "--pyproject", subject]
    bill = DIST / f"ralph_ls-{version}.cdx.json"
    command: Command = [RELEASE_TOOLS / "cyclonedx-py", "environment", *options, "-o", bill]
    _run([*command, environment], cwd=checkout)
    scripts = checkout / "client-vscode" / "scripts"
    extension = DIST / f"ralph-loop-{version}.cdx.json"
    node: Command = [sys.executable, scripts / "with_node.py", "node"]
    _run([*node, scripts / "bill.mjs", extension], cwd=checkout)


def write_checksums() -> None:
    """SHA256SUMS, as ``sha256sum --check`` reads it."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted(digests(DIST).items())]
    DIST.joinpath("SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file in a folder, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def _environment(checkout: Path) -> dict[str, str]:
    date = _output(["git", "log", "-1", "--format=%ct"], cwd=checkout)
    return {**os.environ, "SOURCE_DATE_EPOCH": date, "RALPH_PYTHON": sys.executable}


def _run(command: Command, cwd: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run in silence; raises ValueError with what it printed where it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        words = " ".join(str(word) for word in command)
        raise ValueError(f"{words} failed with {done.returncode}:\n{done.stdout}")


def _output(command: list[str], cwd: Path) -> str:
    return subprocess.run(
        command, cwd=cwd, check=True, capture_output=True, text=True
    ).stdout.strip()


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
