"""A private Postgres cluster, run by an ordinary user, without a port: it has a socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MISSING = "Postgres is not installed; on Debian: apt-get install postgresql"


def find_program(name: str) -> Path | None:
    """A program of Postgres: on PATH, or where Debian puts it."""
    found = shutil.which(name)
    if found:
        return Path(found)
    return max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), default=None)


class Cluster:
    """One cluster with an empty database ``ralph``; with a host it has a port, too."""

    def __init__(self, host: str | None = None, port: int = 5432) -> None:
        self.host, self.port = host, port
        self.folder = Path(tempfile.mkdtemp(prefix="ralph-pg-"))
        self.data = self.folder / "data"
        # Postgres refuses to be run by root.
        self.user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self.user is not None:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.folder.chmod(0o755)
        self._server: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(self.data), "-U", "ralph", "-A", "trust", "-N", "-E", "UTF8")
        if host is not None:
            with (self.data / "pg_hba.conf").open("a") as rules:
                rules.write("host all all 10.231.0.0/16 trust\n")
        self.start()
        self._run("createdb", "-h", str(self.folder), "-p", str(port), "-U", "ralph", "ralph")

    @property
    def address(self) -> str:
        return f"postgresql://ralph@/ralph?host={self.folder}"

    def start(self) -> None:
        options = [
            f"unix_socket_directories={self.folder}",
            f"listen_addresses={self.host or ''}",
            f"port={self.port}",
            "fsync=off",
            "max_connections=1000",
            "shared_buffers=32MB",
        ]
        settings = [part for one in options for part in ("-c", one)]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [str(_program("postgres")), "-D", str(self.data), *settings],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._as_user(),
            )
        while subprocess.run(
            [str(_program("pg_isready")), "-q", "-h", str(self.folder), "-p", str(self.port)],
            check=False,
        ).returncode:
            assert self._server.poll() is None, (self.folder / "log").read_text()

    def query(self, sql: str, database: str = "ralph") -> str:
        """What a statement returns, as its owner."""
        words = ["psql", "-X", "-h", str(self.folder), "-p", str(self.port)]
        words += ["-U", "ralph", "-d", database, "-Atc", sql]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill(self) -> None:
        """End it as a crash would, with everything below it."""
        assert self._server is not None
        self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop", check=False)
        self._server.wait()

    def close(self) -> None:
        if self._server is not None and self._server.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        done = subprocess.run(
            [str(_program(program)), *arguments],
            capture_output=True,
            cwd=self.folder,
            check=False,
            **self._as_user(),
        )
        assert not check or done.returncode == 0, done.stderr.decode()

    def _as_user(self) -> dict[str, Any]:
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": ()}


def _program(name: str) -> Path:
    found = find_program(name)
    assert found is not None, MISSING
    return found


def programs_missing(names: Sequence[str] = ("initdb", "postgres", "pg_ctl")) -> list[str]:
    """The programs of Postgres that this machine lacks."""
    return [name for name in names if find_program(name) is None]
