"""Installs what is in dist/ the ways users do, each in an empty home, and starts it.

A wheel that builds is no wheel that works: a data file may be missing, or a dependency undeclared.
So each is installed, prints its version and a page of its documentation, plays the demo, and
answers an editor. The extension's wheels are installed without an index, by every supported
Python of this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PATIENCE = 600
"""Seconds for an installation or a demo."""


class Try(NamedTuple):
    """One way to install, in a home that holds nothing else."""

    name: str
    install: Callable[[Path], Path]
    """Installs into this home; the folder of the programs."""
    plays_demo: bool


def try_all(dist: Path, version: str, scratch: Path, tools: Path) -> list[str]:
    """Try every way to install; one line for each that fails."""
    [wheel], [sdist] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    uv, pipx = [sys.executable, "-m", "uv"], [str(tools / "pipx")]
    tries = [
        Try("wheel, pip install", lambda home: by_pip(home, str(wheel)), plays_demo=True),
        Try(
            "wheel, uv tool install", lambda home: by_tool(home, uv, "tool", wheel), plays_demo=True
        ),
        Try("wheel, pipx install", lambda home: by_tool(home, pipx, "", wheel), plays_demo=True),
        Try("sdist, pip install", lambda home: by_pip(home, str(sdist)), plays_demo=True),
    ]
    tries += [try_extension(dist, version, python, path) for python, path in pythons_here().items()]
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda one: report(one, version, scratch / "homes"), tries)
        problems = [problem for problem in results if problem]
    missing = set(PYTHONS) - pythons_here().keys()
    here = host_target()
    print(f"built, but not run here: extensions other than {here}", end="")
    print(f"; Python {', '.join(sorted(missing))}" if missing else "", flush=True)
    return problems


def report(one: Try, version: str, homes: Path) -> str | None:
    """Install and start it; what went wrong, or None."""
    home = homes / one.name.replace(" ", "-").replace(",", "")
    home.mkdir(parents=True)
    started = time.monotonic()
    try:
        programs = one.install(home)
        installed = time.monotonic() - started
        start(programs, version, home, plays_demo=one.plays_demo)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"{one.name}: {error}"
    print(f"works: {one.name} (installed in {installed:.0f} s)", flush=True)
    shutil.rmtree(home)
    return None


def by_pip(home: Path, *what: str, python: str = sys.executable) -> Path:
    """Into a new environment, with the pip that the Python brings."""
    environment = home / "environment"
    run([python, "-m", "venv", str(environment)], home)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    run([str(programs / "python"), "-m", "pip", "install", "--quiet", *what], home)
    return programs


def by_tool(home: Path, tool: list[str], verb: str, wheel: Path) -> Path:
    """With an installer that gives each tool a separate environment."""
    python = getattr(sys, "_base_executable", sys.executable)
    run([*tool, *verb.split(), "install", "--python", python, str(wheel)], home)
    return home / ".local" / "bin"


def try_extension(dist: Path, version: str, python: str, path: str) -> Try:
    """The server from the wheels in the extension for this platform, as the extension does it."""
    archive = dist / f"ralph-loop-{host_target()}-{version}.vsix"

    def install(home: Path) -> Path:
        with zipfile.ZipFile(archive) as opened:
            inside = [name for name in opened.namelist() if name.endswith(".whl")]
            opened.extractall(home, members=inside)
        wheels = home / "extension" / "wheels"
        [own] = wheels.glob("ralph_ls-*.whl")
        offline = ["--isolated", "--no-index", "--find-links", str(wheels)]
        return by_pip(home, *offline, str(own), python=path)

    return Try(f"extension, Python {python}, no network", install, plays_demo=False)


def start(programs: Path, version: str, home: Path, *, plays_demo: bool) -> None:
    """Start the programs; raises ValueError where one does not do what it should."""
    ralph, server = str(programs / "ralph"), str(programs / "ralph-ls")
    if (said := run([ralph, "--version"], home)).strip() != f"ralph {version}":
        raise ValueError(f"ralph --version printed {said!r}")
    run([ralph, "help", "faq"], home)
    reply = run([server], home, input_text=_lsp_messages())
    body = json.loads(reply[reply.index("{") :].splitlines()[0].partition("Content-Length")[0])
    if "capabilities" not in body.get("result", {}):
        raise ValueError(f"ralph-ls answered initialize with {body}")
    if plays_demo:
        run([ralph, "demo", str(home / "demo")], home)


def run(command: list[str], home: Path, *, input_text: str = "") -> str:
    """Run with an empty home and without our environment; what it printed.

    Raises ValueError with its output where it fails.
    """
    ours = ("VIRTUAL_ENV", "RALPH_", "PYTHON", "XDG_", "MAKE", "PIPX_", "GIT_", "PIP_FIND_LINKS")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(ours)
    } | {"HOME": str(home), "UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run(
        command,
        cwd=home,
        env=environment,
        input=input_text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        words = " ".join(command)
        raise ValueError(f"{words} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def pythons_here() -> dict[str, str]:
    """The supported Pythons of this machine that start, by their minor version."""
    found = {}
    for python in PYTHONS:
        check = (
            f"import sys, venv; print(sys.executable, '{python}' == '%d.%d' % sys.version_info[:2])"
        )
        path = shutil.which(f"python{python}")
        if path is None and sys.version_info[:2] == tuple(map(int, python.split("."))):
            path = sys.executable
        if path is not None:
            done = subprocess.run(
                [path, "-I", "-c", check], capture_output=True, text=True, check=False
            )
            executable, _, is_it = done.stdout.strip().rpartition(" ")
            if is_it == "True":
                found[python] = executable
    return found


def host_target() -> str:
    """VS Code's name of this platform."""
    machine = os.uname().machine if os.name != "nt" else "x64"
    cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(machine, machine)
    return f"{sys.platform}-{cpu}"


def _lsp_messages() -> str:
    """A conversation that asks an LSP server who it is, and ends it."""
    initialize: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": initialize},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    return "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
