"""Install the real VS Code, and what drives it in a browser, in a separate folder.

    .venv/bin/python tests/e2e/vscode/install.py [--print]

The editor is the plain server that the npm package code-server carries: the same program that
VS Code's remote extensions talk to, with a page that a browser opens. It needs no native build and
no download beside the npm registry. The folder is ``.venv/e2e``, or what ``RALPH_E2E_DIR`` names;
it takes 440 MB. A second call finds the work done; one that was interrupted leaves nothing that
could be taken for whole, since each part is made aside and renamed.

Only Chromium is the system's: it comes from a package of the machine, and this names the command
(in CI, as root, it runs it).
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WITH_NODE = ROOT / "client-vscode" / "scripts" / "with_node.py"

CODE_SERVER = "4.139.1"
"""Of code-server; it carries Code 1.139.1."""
CODE_SERVER_SHA512 = (
    "fUYvJVdz4ZoVJfakGiGWXFMpF8K1ObsrpGvX17ZxNpKOzdNHs7lANT670JTr4ZhA8DnWqyvvmFG/d3HV9Yy6ew=="
)

NOT_NEEDED = (
    *("copilot", "debug-auto-launch", "debug-server-ready", "emmet", "github"),
    *("github-authentication", "grunt", "gulp", "ipynb", "jake", "mermaid-markdown-features"),
    *("microsoft-authentication", "ms-vscode.js-debug", "ms-vscode.js-debug-companion"),
    *("ms-vscode.vscode-js-profile-table", "notebook-renderers", "npm", "php-language-features"),
    *("simple-browser", "terminal-suggest", "tunnel-forwarding", "typescript-language-features"),
)
"""Extensions of the editor that only cost time at its start."""

# Read once: a test takes away what could lead it into its caller's settings.
NAMED_FOLDER = os.environ.get("RALPH_E2E_DIR")
NAMED_CHROMIUM = os.environ.get("RALPH_E2E_CHROMIUM")

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class Missing(Exception):
    """Something that this cannot bring; the message says what to do."""


def main(arguments: list[str]) -> int:
    """Install everything, or with ``--print`` only say where it is."""
    if arguments == ["--print"]:
        sys.stdout.write(f"{folder()}\n")
        return 0
    if arguments:
        sys.stderr.write(__doc__ or "")
        return 64
    try:
        install()
    except Missing as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    sys.stdout.write(f"the editor lies in {folder()}\n")
    return 0


def folder() -> Path:
    """Where everything is installed."""
    return Path(NAMED_FOLDER).resolve() if NAMED_FOLDER else ROOT / ".venv" / "e2e"


def install() -> Path:
    """Install what is not there yet; returns the folder. Raises ``Missing``."""
    where = folder()
    where.mkdir(parents=True, exist_ok=True)
    with _only_one_at_a_time(where):
        _once(where / f"vscode-{CODE_SERVER}", _lay_out_vscode)
        lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:12]
        _once(where / f"driver-{lock}", _lay_out_driver)
        if chromium() is None:
            _bring_chromium()
    return where


def vscode_server() -> Path:
    """The program that Node runs."""
    return folder() / f"vscode-{CODE_SERVER}" / "out" / "server-main.js"


def driver_modules() -> Path:
    """The folder from which the driver takes its packages."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:12]
    return folder() / f"driver-{lock}"


def chromium() -> Path | None:
    """The browser, or None where the machine has none."""
    found = NAMED_CHROMIUM or next(filter(None, map(shutil.which, CHROMIUM)), None)
    return Path(found) if found else None


def missing() -> str | None:
    """What to do before an end-to-end test can run; None where everything is there."""
    if not vscode_server().is_file() or not driver_modules().is_dir():
        return "run: .venv/bin/python tests/e2e/vscode/install.py"
    return NO_CHROMIUM if chromium() is None else None


NO_CHROMIUM = (
    "there is no Chromium on PATH; run: apt-get install --no-install-recommends chromium,"
    " or name one in RALPH_E2E_CHROMIUM"
)


def _lay_out_vscode(target: Path) -> None:
    """Code's server, without what it would start for nothing."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        _npm(Path(scratch), "pack", "--silent", f"code-server@{CODE_SERVER}")
        archive = Path(scratch, f"code-server-{CODE_SERVER}.tgz")
        _check(archive)
        prefix = "package/lib/vscode/"
        with tarfile.open(archive) as package:
            for member in package:
                if member.name.startswith(prefix):
                    member.name = member.name.removeprefix(prefix)
                    package.extract(member, target, filter="data")
    for name in NOT_NEEDED:
        shutil.rmtree(target / "extensions" / name, ignore_errors=True)
    _npm(target, "install", "--silent", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")


def _lay_out_driver(target: Path) -> None:
    target.mkdir()
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(HERE / name, target / name)
    _npm(target, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund")


def _bring_chromium() -> None:
    may = os.environ.get("CI") and hasattr(os, "geteuid") and os.geteuid() == 0
    if not may or shutil.which("apt-get") is None:
        raise Missing(NO_CHROMIUM)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ):
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


def _once(target: Path, lay_out: Callable[[Path], None]) -> None:
    """Make ``target`` whole or not at all; versions before it go."""
    if target.is_dir():
        return
    kind = target.name.partition("-")[0]
    with tempfile.TemporaryDirectory(prefix=f".{kind}-", dir=target.parent) as scratch:
        made = Path(scratch, "made")
        lay_out(made)
        for older in target.parent.glob(f"{kind}-*"):
            shutil.rmtree(older)
        made.rename(target)


def _check(archive: Path) -> None:
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != CODE_SERVER_SHA512:
        raise Missing(f"{archive.name} is not the one that we know: sha512-{digest}")


def _npm(directory: Path, *arguments: str) -> None:
    directory.mkdir(exist_ok=True)
    command = [sys.executable, str(WITH_NODE), "npm", *arguments]
    # What it prints goes to stderr, so that stdout is ours.
    ran = subprocess.run(command, cwd=directory, stdout=sys.stderr, check=False)
    if ran.returncode != 0:
        raise Missing(f"npm {' '.join(arguments)} failed in {directory} ({ran.returncode})")


@contextmanager
def _only_one_at_a_time(where: Path) -> Iterator[None]:
    """Two callers at once: the second waits, then finds the work done."""
    from filelock import FileLock

    with FileLock(where / ".lock"):
        yield


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
