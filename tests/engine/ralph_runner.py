"""What the tests of whole runs share: a ``ralph`` that starts at once, and agents that are sh."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from ralph_ls.protocol.run.events import Event, RunResumed, RunStarted, UnknownEvent, parse_event
from ralph_ls.store.layout import find_worktree
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch, JournalFollower
from ralph_ls.store.run.lock import LockOwner, read_owner
from tests.engine.forked_ralph import ForkedProcess, ForkServer
from tests.engine.project_builder import (
    PATIENCE,
    Completed,
    Running,
    end_marked,
    make_repository,
    newest_run,
    write_agent,
)

PRELUDE = """\
kept={kept}
cat >"$kept/prompt-$RALPH_START"
say() {{ printf '%s\\n' "$@"; }}
report() {{ say '---RALPH_STATUS---' "$@" '---END_RALPH_STATUS---'; }}
work() {{ echo "$RALPH_START" >>work.txt; }}
commit() {{ git add -A; git commit -q -m "${{1:-Work $RALPH_START}}"; }}
mark() {{ sed "s/\\[ \\] $2/[$1] $2/" @fix_plan.md >"$kept/plan"; cat "$kept/plan" >@fix_plan.md; }}
wait_here() {{ : >"$kept/here"; read -r _ <"$kept/go"; }}
"""
"""What every agent here begins with; it keeps its prompt, so that a test can read it."""


CLAUDE = """\
argv=
for word; do case $word in --mcp-config=*) ;; *) argv="$argv${{argv:+ }}$word" ;; esac; done
echo "$argv" >"$kept/argv-$RALPH_START"
says() {{ printf '{{"type":"result","subtype":"success","is_error":false,"session_id":"%s",\
"total_cost_usd":%s,"usage":{{"input_tokens":1000,"output_tokens":100}},"num_turns":1,\
"result":"%s"%s}}\\n' "$1" "$2" "$3" "${{4:-}}"; }}
limited() {{ printf '{{"type":"rate_limit_event","rate_limit_info":\
{{"status":"rejected","resetsAt":%s}}}}\\n' "$1"; }}
"""
"""What an agent begins with that prints as ``claude`` does; it keeps its command line, without the
server of MCP that it is offered.

``says SESSION COST TEXT [MORE]`` is its result, with the text as it is in JSON.
"""


class Ralph:
    """Runs ``ralph``, and remembers what it started."""

    def __init__(
        self, fork_server: ForkServer, at_the_end: ExitStack, *, really_launches: bool = False
    ) -> None:
        self._nursery = fork_server
        self._at_the_end = at_the_end
        self._really_launches = really_launches

    def __call__(
        self,
        folder: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Completed:
        """Run it in ``folder`` to its end."""
        return self.start(folder, *arguments, env=env, stdin=stdin).wait()

    def start(
        self,
        folder: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stdout: int | None = None,
        stdin: bytes = b"",
    ) -> Started:
        """Start it in ``folder``; its output goes into files, so that it never waits for us.

        So does what it finds on its standard input.
        """
        out = self._at_the_end.enter_context(_scratch_file())
        err = self._at_the_end.enter_context(_scratch_file())
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            process = self._nursery.fork(
                folder,
                arguments,
                {**os.environ, **(env or {})},
                given.fileno(),
                out.fileno() if stdout is None else stdout,
                err.fileno(),
                really_launches=self._really_launches,
            )
        self._at_the_end.callback(process.close)
        self._at_the_end.callback(_end, process, folder)
        return Started(process, folder, out, err)


class Started(Running):
    """A ``ralph`` whose journal is followed from the moment that its engine has the lock."""

    def follow(self) -> Iterator[Event | UnknownEvent]:
        git_dir = find_worktree(self.repository).git_dir
        wait_until(git_dir, lambda: self._owner() is not None or not self._lives())
        if (owner := self._owner()) is None:
            return
        journal = Path(owner.state_dir, "runs", owner.run, "journal.jsonl")
        ours = False
        for events in JournalFollower(journal, is_live=self._lives):
            for event in events:
                if isinstance(event, RunStarted | RunResumed):
                    ours = event.pid == self.pid
                if ours:
                    yield event

    def _owner(self) -> LockOwner | None:
        owner = read_owner(find_worktree(self.repository).git_dir)
        return owner if owner is not None and owner.pid == self.pid else None


class Project:
    """A repository, an agent beside it, and what was kept of them."""

    def __init__(self, ralph: Ralph, folder: Path) -> None:
        self.ralph = ralph
        self.repository = folder / "repository"
        self.kept = folder / "kept"
        self.kept.mkdir()
        self.command = ""

    def plan(self, *tasks: str, files: Mapping[str, str] | None = None) -> Project:
        """Make the repository."""
        make_repository(self.repository, tasks or ("First task",), files=files)
        return self

    def agent(self, body: str) -> Project:
        """Write the agent, in sh; without a repository yet, make a plain one."""
        if not self.repository.exists():
            self.plan()
        prelude = PRELUDE.format(kept=shlex.quote(str(self.kept)))
        self.command = write_agent(self.kept / "bin", prelude + body)
        return self

    def settings(self, profile: str = "fixplan") -> str:
        """A config file that names the profile, and the agent as the command to run."""
        agent = self.kept / "bin" / "agent"
        return f'profile = "{profile}"\nagent = "command"\n\n[agents.command]\nargv = ["{agent}"]\n'

    def run_claude(self, body: str, *arguments: str) -> Completed:
        """A run to its end with a ``claude`` on PATH that is this script."""
        if not self.repository.exists():
            self.plan()
        prelude = (PRELUDE + CLAUDE).format(kept=shlex.quote(str(self.kept)))
        write_agent(self.kept / "bin", prelude + body, name="claude")
        path = os.pathsep.join([str(self.kept / "bin"), os.environ["PATH"]])
        return self.ralph(self.repository, "run", *arguments, env={"PATH": path})

    def run(
        self, *arguments: str, env: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> Completed:
        """A run with the agent, to its end."""
        return self.start(*arguments, env=env, stdin=stdin).wait()

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stdout: int | None = None,
        stdin: bytes = b"",
    ) -> Started:
        """A run with the agent."""
        given = ("run", *arguments, "--agent-command", self.command)
        return self.ralph.start(self.repository, *given, env=env, stdout=stdout, stdin=stdin)

    def tell(self, *arguments: str) -> Completed:
        """Any other command of ``ralph``."""
        return self.ralph(self.repository, *arguments)

    def prompt(self, iteration: int) -> str:
        """The prompt that the agent got."""
        return (self.kept / f"prompt-{iteration}").read_text(encoding="utf-8")

    def file(self, name: str) -> Path:
        """A file of the repository."""
        return self.repository / name

    def run_folder(self) -> Path:
        """The newest run's folder in the state."""
        found = newest_run(self.repository)
        assert found is not None
        return found.files.folder

    def make_gate(self) -> None:
        """What an agent that calls ``wait_here`` waits for."""
        os.mkfifo(self.kept / "go")

    def open_gate(self) -> None:
        """Let the agent that waits continue; waits for it where it is not there yet."""
        with (self.kept / "go").open("w", encoding="utf-8") as gate:
            gate.write("go\n")


def wait_until(folder: Path, is_so: Callable[[], bool], *, seconds: float = PATIENCE) -> None:
    """Wait until something is so that a change in the folder brings about."""
    changed = threading.Event()
    until = time.monotonic() + seconds
    with FolderWatch([folder], changed.set):
        while not is_so():
            assert time.monotonic() < until, sorted(path.name for path in folder.iterdir())
            changed.wait(LIVE_INTERVAL)
            changed.clear()


def remove_at_once(folder: Path) -> None:
    """Remove a folder that somebody still writes into, as ``rm -rf`` does when nobody interferes.

    Entry by entry, a file that appears meanwhile would leave its folder behind.
    """
    removed = folder.with_name(f"{folder.name}-removed")
    folder.rename(removed)
    shutil.rmtree(removed)


def events_in(stdout: str) -> tuple[Event | UnknownEvent, ...]:
    """The events that ``--json`` printed; fails where a line is none."""
    return tuple(parse_event(line) for line in stdout.splitlines())


def told(done: Completed, kind: str) -> list[Any]:
    """Every event of one kind."""
    return [event for event in done.events if getattr(event, "kind", "") == kind]


def warnings(done: Completed) -> list[str]:
    """The codes of what was warned of."""
    return [event.code for event in told(done, "warned")]


@contextmanager
def _scratch_file() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        yield cast(IO[bytes], file)


def _end(process: ForkedProcess, folder: Path) -> None:
    if process.poll() is None:
        process.kill()
        process.wait(PATIENCE)
        end_marked(folder)
