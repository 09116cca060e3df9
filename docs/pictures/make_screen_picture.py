"""Takes the picture of the full screen: two real runs with a scripted agent, and ``ralph watch``.

``python docs/pictures/make_screen_picture.py`` writes ``screen.svg`` beside this file. The agent
prints what ``claude`` prints; git, the commits, the evidence and the screen are real.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from make_pictures import draw
from rich.text import Text

from ralph_ls.cli.commands.watch import other_runs
from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.screen.app import RalphScreen

COLUMNS, ROWS = 120, 34

SHOWN = ("▲ letters", "pytest -q tests/test_tax.py · ", "3  running", "IN_PROGRESS · 2 files")
"""What the screen has to show when it is taken."""

PATIENCE = 120.0

PLAN = """\
# Plan

- [x] Set up the project
- [ ] Round the tax half a cent up
- [ ] Reject an empty address
- [ ] Write the letter to the customer
- [ ] Print invoices in both colours
- [ ] Send reminders after 30 days
- [ ] [BLOCKED] Pay by card (waits for the bank's keys)
"""

AGENT = r'''#!{python}
"""Works through the plan and prints it as claude does; asks in the repository letters."""
import json, os, re, subprocess, sys, time, uuid

if "--version" in sys.argv:
    sys.exit(print("2.1.330 (Claude Code)"))
session = str(uuid.uuid4())


def out(**record):
    print(json.dumps(dict(record, session_id=session)), flush=True)


def say(*content):
    message = dict(id=str(uuid.uuid4()), type="message", role="assistant", content=content)
    out(type="assistant", message=dict(message, model="claude-sonnet-4-5"))


def use(name, seconds, result, **given):
    call = str(uuid.uuid4())
    say(dict(type="tool_use", id=call, name=name, input=given))
    time.sleep(seconds)
    found = dict(type="tool_result", tool_use_id=call, content=result)
    out(type="user", message=dict(role="user", content=[found]))


def end(text, cost):
    say(dict(type="text", text=text))
    usage = dict(input_tokens=5200, output_tokens=840)
    out(type="result", subtype="success", is_error=False, result=text, usage=usage,
        num_turns=6, total_cost_usd=cost, terminal_reason="completed")
    sys.exit()


out(type="system", subtype="init", cwd=os.getcwd(), model="claude-sonnet-4-5", tools=[])
if os.path.basename(os.getcwd()) == "letters":
    end("<promise>DECIDE:Which database?\n1. SQLite\n2. PostgreSQL</promise>", 0.05)
plan = open("fix_plan.md").read()
title = re.search(r"- \[ \] (.*)", plan)[1]
last = "letter" in title
say(dict(type="text", text=f"I begin with “{{title}}” and read what is there."))
use("Read", 0.2, "def tax(net): ...", file_path=os.getcwd() + "/invoice/tax.py")
say(dict(type="text", text="The total is rounded once, but each line is not. A test first."))
use("Write", 0.2, "ok", file_path=os.getcwd() + "/tests/test_tax.py", content="")
use("Bash", 600 if last else 0.3, "12 passed", command="pytest -q tests/test_tax.py")
for name in ("tax", "test_tax"):
    with open(name + ".py", "a") as file:
        file.write(f"# {{title}}\n")
with open("fix_plan.md", "w") as file:
    file.write(plan.replace(f"- [ ] {{title}}", f"- [x] {{title}}"))
subprocess.run(["git", "add", "-A"])
subprocess.run(["git", "commit", "-qm", title])
end("The tests pass.\n\n---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nTASKS_COMPLETED_THIS_LOOP: 1\n"
    "FILES_MODIFIED: 2\nTESTS_STATUS: PASSING\nEXIT_SIGNAL: false\n"
    "RECOMMENDATION: Take the next task\n---END_RALPH_STATUS---", 0.21)
'''


def main() -> int:
    """Take the picture; 1 where the screen never showed what it has to show."""
    with tempfile.TemporaryDirectory(prefix="ralph-") as name:
        folder = Path(name)
        _set_up(folder)
        try:
            for repository in ("letters", "invoice"):
                _ralph(folder / repository, "run", "--detach", "--max-cost", "5")
            os.chdir(folder / "invoice")
            lines = asyncio.run(_take())
        finally:
            for repository in ("letters", "invoice"):
                with contextlib.suppress(subprocess.CalledProcessError):
                    _ralph(folder / repository, "stop", "--now")
            os.chdir(Path(__file__).parent)
    if lines is None:
        sys.stderr.write("the screen never showed the running tool and the waiting run\n")
        return 1
    target = Path(__file__).with_name("screen.svg")
    draw(lines, target, title="ralph watch", columns=COLUMNS)
    sys.stdout.write(f"{target.name} written\n")
    return 0


def _set_up(folder: Path) -> None:
    agent = folder / "bin" / "claude"
    agent.parent.mkdir()
    agent.write_text(AGENT.format(python=sys.executable), encoding="utf-8")
    agent.chmod(0o755)
    os.environ.update(
        HOME=str(folder),
        RALPH_STATE_DIR=str(folder / "state"),
        PATH=f"{agent.parent}{os.pathsep}{os.environ['PATH']}",
        **{
            f"GIT_{who}_{what}": "ralph@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    )
    for name in ("letters", "invoice"):
        repository = folder / name
        repository.mkdir()
        (repository / "fix_plan.md").write_text(PLAN, encoding="utf-8")
        (repository / ".ralph").mkdir()
        (repository / ".ralph" / "config.toml").write_text('agent = "claude"\n', encoding="utf-8")
        for words in (("init", "-qb", "main"), ("add", "-A"), ("commit", "-qm", "The beginning")):
            subprocess.run(["git", *words], cwd=repository, check=True)


def _ralph(repository: Path, *arguments: str) -> None:
    command = [sys.executable, "-P", "-m", "ralph_ls", *arguments]
    subprocess.run(command, cwd=repository, check=True, stdout=subprocess.DEVNULL)


async def _take() -> list[Text] | None:
    app = RalphScreen(current_worktree(), find_others=other_runs)
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        for _ in range(int(PATIENCE / 0.2)):
            await pilot.pause(0.2)
            strips = app.screen._compositor.render_strips()  # noqa: SLF001
            lines = [
                Text.assemble(*((one.text, one.style or "") for one in strip)) for strip in strips
            ]
            text = "\n".join(line.plain for line in lines)
            if all(words in text for words in SHOWN):
                return lines
    return None


if __name__ == "__main__":
    sys.exit(main())
