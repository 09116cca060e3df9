"""What the editor finds in the end-to-end test: repositories, an agent, a second extension.

The agent is a script that waits at a gate in each of its iterations, until the driver sends a
piece of shell through it: so what the screen shows in between does not hang on how fast the
machine is, and a chapter says itself what the agent does in it.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.engine.project_builder import git, run_ralph, write_agent

PLAN = """\
# Plan

## High Priority

- [ ] Write the parser
- [ ] Choose the storage engine
- [ ] Cache what was parsed

## Standard

- [ ] Describe the cache in the manual
"""

LETTERS = """\
# Plan

- [ ] Write a letter
"""

LATER = "# Later\n\n- [ ] Sort the invoices\n"

STORIES = """\
{
  "project": "Invoices",
  "userStories": [
    {
      "id": "US-001",
      "title": "Read the invoice",
      "acceptanceCriteria": ["the sum is right"],
      "priority": 1,
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0,
      "reviewFeedback": ""
    }
  ]
}
"""

AGENT = """\
kept={kept}/$(basename "$PWD")
n=$RALPH_START
mkdir -p "$kept"
cat >"$kept/prompt-$n"
say() {{ printf '%s\\n' "$@"; }}
tick() {{ sed "s/\\[ \\] $1/[x] $1/" @fix_plan.md >"$kept/plan"; cat "$kept/plan" >@fix_plan.md; }}
say "Reading the plan for iteration $n."
mkfifo "$kept/gate-$n"
: >"$kept/at-$n"
cat "$kept/gate-$n" >"$kept/script-$n"
. "$kept/script-$n"
"""

LEDGER = """\
# Plan

- [ ] T001: Show the total
- [ ] T002: Show the tax
"""

CONFIG = ".ralph/config.toml"
N_POURED = 60

POURING_AGENT = f"""\
cat >/dev/null
if [ "$RALPH_START" -gt 1 ]; then
    # As an agent would: who looks has time to see that its question was answered.
    sleep 3
    echo '---RALPH_STATUS---'
    echo 'STATUS: COMPLETE'
    echo 'EXIT_SIGNAL: true'
    echo '---END_RALPH_STATUS---'
    exit
fi
for n in $(seq {N_POURED}); do
    sed "s/\\[ \\] Task $n\\$/[x] Task $n/" @fix_plan.md >.git/plan
    mv .git/plan @fix_plan.md
    echo "Task $n is done."
    sleep 0.05
done
git add -A
git commit -q -m 'All of it'
echo '<promise>DECIDE:Which ink? (a) Black (b) Blue</promise>'
"""
"""Writes the plan and says something many times a second, then asks; nothing holds it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that the chapters need to know of the world."""

    folder: Path
    fresh: Path
    """A repository without any file of the loop."""
    repository: Path
    other_repository: Path
    stories: Path
    """The repository whose plan is a file of stories."""
    ledger: Path
    """The repository whose tasks are worked on side by side."""
    workspace: Path
    """The file that opens both."""
    host: Path
    """The repository in which the tests inside the extension host look."""
    kept: Path
    """What the agent leaves for us, and its gates, in a folder for each repository."""
    agent: str
    """The agent's program."""

    @property
    def repositories(self) -> tuple[Path, ...]:
        """All of them."""
        return (
            *(self.fresh, self.repository, self.other_repository, self.stories, self.ledger),
            self.host,
        )


def set_up(folder: Path) -> Stage:
    """Make the world in an empty folder; RALPH_STATE_DIR holds that the agent is allowed."""
    kept = folder / "kept"
    agent = write_agent(kept / "bin", AGENT.format(kept=shlex.quote(str(kept))))
    pouring = write_agent(kept / "bin", POURING_AGENT, name="pouring-agent")
    stage = Stage(
        folder=folder,
        fresh=folder / "fresh",
        repository=folder / "parser",
        other_repository=folder / "letters",
        stories=folder / "invoices",
        ledger=folder / "ledger",
        workspace=folder / "both.code-workspace",
        host=folder / "host",
        kept=kept,
        agent=shlex.split(agent)[0],
    )
    _repository(stage.fresh, {"README.md": "# Fresh\n", "words.py": "WORDS = []\n"})
    _repository(stage.repository, _loop(PLAN, agent))
    _repository(stage.other_repository, _loop(LETTERS, agent))
    config = 'profile = "stories"\n' + _loop("", agent)[CONFIG]
    files = {"ralph/tasks.json": STORIES, "TODO.txt": LATER, CONFIG: config}
    _repository(stage.stories, files)
    _repository(stage.ledger, _loop(LEDGER, agent) | {"page.txt": "total\n"})
    tasks = "".join(f"- [ ] Task {n}\n" for n in range(1, N_POURED + 1))
    _repository(stage.host, _loop(f"# Plan\n\n## Many\n\n{tasks}", pouring))
    # The window opens before there is a loop in it; the tests bring these back.
    aside = stage.host / ".git" / "aside"
    aside.mkdir()
    for name in (".ralph", "@fix_plan.md"):
        (stage.host / name).rename(aside / name)
    folders = [{"path": path.name} for path in (stage.repository, stage.other_repository)]
    stage.workspace.write_text(json.dumps({"folders": folders}), encoding="utf-8")
    return stage


def _loop(plan: str, agent: str) -> dict[str, str]:
    """The files of a loop that is set up."""
    argv = json.dumps(shlex.split(agent))
    config = f'agent = "command"\nmax_iterations = 20\n\n[agents.command]\nargv = {argv}\n'
    return {"@fix_plan.md": plan, CONFIG: config}


def _repository(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "The beginning")
    if ".ralph/config.toml" in files:
        allowed = run_ralph(folder, "allow", "--yes")
        assert allowed.exit_code == 0, allowed.stderr
