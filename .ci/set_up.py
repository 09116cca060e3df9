"""Makes ``.venv``: exactly the packages of requirements.lock, and this project as it is here.

It runs before anything is installed, so it knows nothing but the standard library.
Two makes at once are kept apart by a lock on requirements.lock: the second waits, then finds the
work done. An environment that could not be finished is removed at once, or, where we were killed,
by the next set-up: nobody meets half of one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / ".set-up"
UNFINISHED = ENVIRONMENT / ".unfinished"
LOCK = ROOT / "requirements.lock"
INPUTS = [LOCK, ROOT / "pyproject.toml", Path(__file__).resolve()]


def main() -> int:
    """Bring the environment up to date; 0 if it is, else the code of what failed."""
    with _only_one_at_a_time():
        if _is_up_to_date():
            return 0
        is_kept = _can_be_kept()
        try:
            if not is_kept:
                _say(f"making .venv with Python {sys.version.split()[0]}")
                _make_environment()
            UNFINISHED.touch()
            _say("installing what requirements.lock names (a minute or so, once)")
            # The lock names everything: a resolver would look at releases newer than what it pins.
            _pip("--no-deps", "--require-hashes", "--requirement", str(LOCK))
            _pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
        except BaseException as error:
            if not is_kept:
                shutil.rmtree(ENVIRONMENT, ignore_errors=True)
            if isinstance(error, subprocess.CalledProcessError):
                # An older environment stays as it was: pip fetches everything before it installs.
                UNFINISHED.unlink(missing_ok=True)
                sys.stderr.write((error.output or b"").decode(errors="replace"))
                _say("it failed, as said above; .venv is not ready")
                return error.returncode
            raise
        UNFINISHED.unlink()
        STAMP.touch()
        return 0


@contextmanager
def _only_one_at_a_time() -> Iterator[None]:
    """Hold the lock which two makes share; it dies with its holder."""
    with LOCK.open("r+b") as lock_file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say("waiting for another make that sets up .venv")
                fcntl.flock(lock_file, fcntl.LOCK_EX)
        yield


def _is_up_to_date() -> bool:
    if not STAMP.exists():
        return False
    made_at = STAMP.stat().st_mtime_ns
    return all(path.stat().st_mtime_ns <= made_at for path in INPUTS)


def _can_be_kept() -> bool:
    """True if the environment that is there is whole, with a Python that is new enough."""
    if UNFINISHED.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        result = subprocess.run([_python(), "-c", check], capture_output=True, check=False)
    except OSError:
        return False
    return result.returncode == 0


def _make_environment() -> None:
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    ENVIRONMENT.mkdir()
    UNFINISHED.touch()
    venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt").create(ENVIRONMENT)


def _pip(*arguments: str) -> None:
    """Install in silence; what pip said goes with the error when it fails."""
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    command = [_python(), "-m", "pip", "install", *options, *arguments]
    subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )


def _python() -> str:
    return str(ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def _say(text: str) -> None:
    print(f"set-up: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
