"""A fleet for tests: repositories with bare remotes, an agent, and workers as processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralph_ls.engine.fleet.database import open_engine
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.status import status_of
from ralph_ls.protocol.fleet import FleetStatus
from tests.engine.project_builder import git

AGENT = """\
#!/bin/sh
prompt=$(cat)
task=$(printf '%s\\n' "$prompt" | sed -n 's/.*Task \\([A-Z][0-9]*\\).*/\\1/p' | head -n 1)
echo "$task $$ $(pwd)" >>{kept}/started
{body}
"""

WORK = """\
echo "$task" >"$task.txt"
sed -i "s/\\[ \\] Task $task\\$/[x] Task $task/" @fix_plan.md
git add -A; git commit -q -m "Task $task"
printf '%s\\n' ---RALPH_STATUS--- 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' ---END_RALPH_STATUS---
"""

LEASE_SECONDS = 3


class FleetProject:
    """Repositories with remotes, and the file that makes them a fleet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept = folder / "kept"
        self.kept.mkdir(parents=True)
        self.file = folder / "fleet.toml"
        self.database: str | None = None
        self.remotes_at: str | None = None
        """Where a server has the remotes; the folder of them, if unset."""
        self._tables = ""
        self.prefixes: dict[str, Sequence[str]] = {}
        """What commands of a machine begin with, such as for its network."""
        self.variables: dict[str, dict[str, str]] = {}
        """Additional variables of a machine."""
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.agent(WORK)

    def agent(self, body: str) -> None:
        path = self.folder / "agent"
        path.write_text(AGENT.format(kept=self.kept, body=body))
        path.chmod(0o755)

    def repository(
        self,
        name: str,
        tasks: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        settings: str = "",
        remote: bool = True,
    ) -> Path:
        """Make a repository with these tasks; its bare remote, or its folder."""
        root = self.folder / "src" / name
        root.mkdir(parents=True)
        git(root, "init", "-q")
        (root / "@fix_plan.md").write_text("".join(f"- [ ] {task}\n" for task in tasks))
        for path, text in (files or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
            if text.startswith("#!"):
                (root / path).chmod(0o755)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "first")
        place = f'path = "{root}"'
        if remote:
            bare = self.folder / "remotes" / f"{name}.git"
            bare.parent.mkdir(exist_ok=True)
            git(root, "clone", "-q", "--bare", str(root), str(bare))
            url = f"{self.remotes_at}/{name}.git" if self.remotes_at else f"file://{bare}"
            place, root = f'url = "{url}"\npush = true', bare
        self._tables += (
            f'[repositories.{name}]\n{place}\nprofile = "fixplan"\n'
            f'agent_command = "{self.folder}/agent"\n{settings}\n'
        )
        self.file.write_text(self._tables)
        return root

    def environment(self, machine: str) -> dict[str, str]:
        """That of a process on a machine of the fleet: each has separate state."""
        return {
            **os.environ,
            "RALPH_STATE_DIR": str(self.folder / "machines" / machine),
            "RALPH_FLEET_LEASE_SECONDS": str(LEASE_SECONDS),
            "RALPH_FLEET_FILE": str(self.file),
            **({"RALPH_FLEET_DATABASE": self.database} if self.database else {}),
            **self.variables.get(machine, {}),
        }

    def ralph(self, *words: str, machine: str = "desk") -> subprocess.CompletedProcess[str]:
        """Run ``ralph fleet`` to its end."""
        return subprocess.run(
            [sys.executable, "-m", "ralph_ls", "fleet", *words],
            env=self.environment(machine),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def start_worker(self, machine: str, *words: str) -> subprocess.Popen[bytes]:
        prefix = self.prefixes.get(machine, ())
        with (self.folder / f"{machine}.log").open("ab") as log:
            process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "ralph_ls", "fleet", "worker", *words],
                env=self.environment(machine),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.workers[machine] = process
        return process

    def keep_workers(self, machines: Sequence[str]) -> None:
        """Start the workers that do not run."""
        for machine in machines:
            process = self.workers.get(machine)
            if process is None or process.poll() is not None:
                self.start_worker(machine)

    def stop_workers(self) -> None:
        for process in self.workers.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.workers.values():
            process.wait()

    def status(self) -> FleetStatus:
        """What `ralph fleet status` would say, without another process."""
        own = f"sqlite:///{self.folder / 'machines' / 'desk' / 'fleet' / 'fleet.sqlite'}"
        address = self.database or own
        engine = open_engine(address)
        try:
            return status_of(Ledger(engine), address)
        finally:
            engine.dispose()

    def merged(self, root: Path, branch: str = "ralph/fleet") -> Counter[str]:
        """How often each task was merged."""
        subjects = git(root, "log", "--format=%s", f"main..{branch}").splitlines()
        return Counter(re.sub("^Task ", "", one) for one in subjects)
