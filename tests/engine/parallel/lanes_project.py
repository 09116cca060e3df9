"""A repository whose tasks are worked on side by side, by an agent that goes by their letters."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from tests.engine.project_builder import git, write_agent
from tests.engine.ralph_runner import Project, Ralph

PRELUDE = """\
kept={kept}
prompt=$(cat)
task=$(printf '%s\\n' "$prompt" | sed -n 's/.*Task \\([A-Z]\\).*/\\1/p' | head -n 1)
here="$kept/$task"
mkdir -p "$here"
printf '%s\\n' "$prompt" >"$here/prompt"
echo "${{RALPH_LANE:-none}}" >>"$here/lanes"
tick() {{ sed "s/\\[ \\] Task $task/[x] Task $task/" @fix_plan.md >"$here/plan"
cat "$here/plan" >@fix_plan.md; }}
commit() {{ git add -A; git commit -q -m "Task $task"; }}
resolve() {{ sed -i -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' "$1"; }}
done_now() {{ tick; commit
printf '%s\\n' ---RALPH_STATUS--- 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' ---END_RALPH_STATUS---; }}
"""
"""What every agent here begins with; what it keeps is apart for each task."""

WORK = 'echo "$task" >"$task.txt"; done_now'
"""An agent that makes a file for its task."""

SAME_LINE = """
if grep -q '^<<<<<<<' shared.txt; then resolve shared.txt
else sed -i "s/^base$/base $task/" shared.txt; fi
done_now
"""
"""An agent whose tasks all change the same line, and which resolves conflicts."""


class LanesProject(Project):
    """A repository, and an agent that keeps things apart for each task."""

    def __init__(self, ralph: Ralph, folder: Path) -> None:
        super().__init__(ralph, folder)
        self.home = folder

    def agent(self, body: str) -> LanesProject:
        prelude = PRELUDE.format(kept=shlex.quote(str(self.kept)))
        self.command = write_agent(self.home / "bin", prelude + body)
        return self

    def tasks(self, *tasks: str, files: Mapping[str, str] | None = None) -> LanesProject:
        """Make the repository; a plan of these tasks is in its first commit."""
        self.plan(*tasks, files=files)
        return self

    def branch(self) -> str:
        """The branch that the last parallel run merged into."""
        found = git(self.repository, "branch", "--list", "ralph/session-*", "--format=%(refname)")
        return found.split()[-1]

    def at(self, path: str, commit: str | None = None) -> str:
        """A file at the end of that branch."""
        return git(self.repository, "show", f"{commit or self.branch()}:{path}")

    def subjects(self, commit: str | None = None) -> list[str]:
        """The subjects of the commits on it, the oldest first, without the first one."""
        return git(
            self.repository, "log", "--reverse", "--format=%s", f"HEAD..{commit or self.branch()}"
        ).splitlines()

    def lanes_left(self) -> list[str]:
        """Work trees besides the repository."""
        listed = git(self.repository, "worktree", "list", "--porcelain").splitlines()
        trees = [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]
        return trees[1:]

    def numbers(self, task: str) -> list[str]:
        """The lanes in which the agent worked on a task."""
        return (self.kept / task / "lanes").read_text(encoding="utf-8").split()

    def prompt_of(self, task: str) -> str:
        """The last prompt for a task."""
        return (self.kept / task / "prompt").read_text(encoding="utf-8")
