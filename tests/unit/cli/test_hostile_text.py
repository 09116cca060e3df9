"""What a repository or an agent wrote reaches no terminal raw, whichever verb shows it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.project_builder import end_run, fork_ralph, git, make_repository, write_agent
from tests.unit.cli.cli_runner import Ralph

HOSTILE = "\u009b2J\u202eevil\u2066\u009d0;owned\u009c"
STEERING = re.compile("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

AGENT = f"""
printf 'out \\033]0;owned\\007 \\033[31mred\\033[0m {HOSTILE}\\n'
printf 'err {HOSTILE}\\n' >&2
printf 'x' >>'name {HOSTILE}.txt'
git add -A; git commit -qm 'subject {HOSTILE}'
echo ---RALPH_STATUS---
echo STATUS: IN_PROGRESS
echo EXIT_SIGNAL: false
echo 'RECOMMENDATION: {HOSTILE}'
echo ---END_RALPH_STATUS---
echo '<promise>DECIDE:Which {HOSTILE}?</promise>'
"""

PLAN = f"""\
# Plan {HOSTILE}

## High {HOSTILE}
- [ ] Title {HOSTILE}
  - Done when: {HOSTILE}
- [ ] Blocked [BLOCKED: {HOSTILE}]
- [&] Odd {HOSTILE}
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository with a run that asks in hostile words."""
    folder = make_repository(tmp_path_factory.mktemp("hostile") / "tree", ["one"])
    (folder / "@fix_plan.md").write_text(PLAN, encoding="utf-8")
    (folder / "PROGRESS.md").write_text(f"# Done\n\n## {HOSTILE}\n- [x] {HOSTILE}\n")
    git(folder, "commit", "-qam", f"plan {HOSTILE}")
    agent = write_agent(folder, AGENT)
    done = fork_ralph(folder, "run", "1", "--agent-command", agent, "--json", "--on-halt", "exit")
    assert "questionAsked" in done.kinds()
    check(done.stdout, done.stderr)
    yield folder
    end_run(folder)


def check(*texts: str) -> None:
    for text in texts:
        for line in text.splitlines():
            plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
            assert STEERING.search(plain) is None, ascii(line)


SHOWN = [
    ("status",),
    ("watch",),
    ("plan",),
    ("runs",),
    ("show",),
    ("show", "1"),
    ("logs",),
    ("logs", "--json"),
    ("export",),
    ("report",),
    ("report", "--format", "html"),
    ("doctor",),
    ("prompt",),
    ("rollback", "1", "--dry-run"),
    ("archive", "--dry-run"),
    ("prune", "--dry-run"),
    ("init", "--dry-run"),
    ("plan", f"no {HOSTILE}.md"),
    ("skip", HOSTILE),
    ("reset-task", HOSTILE),
    ("run", "--profile", HOSTILE),
    ("run", "--task", HOSTILE, "--agent-command", "true"),
    ("note", HOSTILE),
    ("config", HOSTILE),
    ("read", "output.txt"),
    ("propose", HOSTILE, "--agent-command", "true"),
    (HOSTILE,),
    ("--" + HOSTILE,),
]
WITH_JSON = [
    *(
        "status",
        "watch",
        "plan",
        "runs",
        "show",
        "ps",
        "inbox",
        "export",
        "doctor",
        "prompt",
        "rollback",
        "archive",
    ),
    "prune",
    *("init", "read"),
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", SHOWN, ids=lambda each: each[0][:9])
def test_no_verb_shows_it_raw(ralph: Ralph, ended: Path, arguments: tuple[str, ...]) -> None:
    (ended / "output.txt").write_text(f"I did {HOSTILE}\n<promise>DECIDE:{HOSTILE}</promise>\n")
    said = ralph(ended, *arguments)
    assert said.out or said.err
    if arguments != ("prompt",):  # In a pipe it is what the agent gets, byte by byte.
        check(said.out, said.err)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [each for each in SHOWN if each[0] in WITH_JSON],
    ids=lambda each: each[0][:9],
)
def test_json_has_it_escaped_and_means_the_same(
    ralph: Ralph, ended: Path, arguments: tuple[str, ...]
) -> None:
    (ended / "output.txt").write_text(f"I did {HOSTILE}\n<promise>DECIDE:{HOSTILE}</promise>\n")
    said = ralph(ended, *arguments, "--json")
    check(said.out, said.err)
    for document in [said.out] if arguments[0] != "watch" else said.out.splitlines():
        if document.strip():
            json.loads(document)
    if arguments == ("plan",):
        assert said.json["tasks"][0]["title"] == f"Title {HOSTILE}"


@pytest.mark.slow
def test_a_spreadsheet_gets_none_of_it(ralph: Ralph, ended: Path) -> None:
    said = ralph(ended, "export", "--format", "csv")
    [heading, *rows] = csv.reader(said.out.splitlines())
    assert any("evil" in cell for row in rows for cell in row)
    assert all(len(row) == len(heading) for row in rows)


@pytest.mark.slow
def test_the_summary_of_the_iterations_has_none_of_it(ended: Path) -> None:
    # The log beside it is what the agent printed, byte by byte.
    [path] = (ended / ".ralph" / "logs").glob("*.csv")
    check(path.read_text(encoding="utf-8"))
