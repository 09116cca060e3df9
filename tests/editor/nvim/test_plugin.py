"""The plugin as a package manager installs it: pickers, the floating log, the status line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.editor.nvim.neovim import PLUGIN, start_neovim
from tests.editor.nvim.test_neovim import ASKED, ASKS_ONCE, lay_out
from tests.engine.ralph_runner import Project

pytestmark = pytest.mark.slow


def test_the_loop_is_followed_in_a_float_and_tasks_and_runs_are_picked(project: Project) -> None:
    plan = lay_out(project, f"say 'Looking around.'\n{ASKS_ONCE}")
    with start_neovim(plan, plugin=True) as editor:
        editor.take_menus()
        editor.wait_for_lens("Start loop")
        complete = editor.api.funcs.getcompletion
        assert complete("Ralph ", "cmdline") == [
            *("answer", "log", "note", "pause", "reset", "resume", "runs", "start", "status"),
            *("stop", "tasks", "watch"),
        ]
        editor.command("Ralph runs")
        editor.wait_for_message("no loop has run here yet")
        assert editor.lua("return vim.fn.maparg('<Leader>rt', 'n')") == "<Cmd>Ralph tasks<CR>"
        assert editor.lua("return require('ralph.statusline').text()") == ""

        editor.command("Ralph start 9")
        editor.wait_for_question(ASKED)
        component = "require('ralph.statusline').text()"
        editor.wait(f"{component}:find(..., 1, true) == 1", "! iteration 1 of 9")
        editor.command("Ralph log")
        editor.wait("vim.api.nvim_win_get_config(0).relative == 'editor'")
        editor.wait_for_text("questionAsked: PostgreSQL or SQLite?")
        editor.type("q")
        editor.wait("vim.api.nvim_win_get_config(0).relative == ''")

        editor.command("Ralph answer SQLite")
        editor.wait_for_lens("complete")
        editor.wait(f"not {component}:find('!', 1, true)")
        editor.command("Ralph log")
        editor.wait_for_text("runEnded")
        editor.type("q")

        editor.command("Ralph tasks")
        (task,) = editor.choose("Tasks of the loop", "First task")
        assert re.fullmatch(r"\[x\] First task  done in iteration 2 · [0-9a-f]{7}", task)
        ticked = plan.read_text(encoding="utf-8").splitlines().index("- [x] First task")
        editor.wait("vim.fn.line('.') == ...", ticked + 1)

        editor.command("Ralph runs")
        (run,) = editor.choose("Runs of the loop", "complete")
        assert "2 iterations  First task" in run
        editor.choose("Iterations of", "#1")
        editor.wait_for_text("Looking around.")


def test_without_the_rest_of_the_plugin_there_are_the_verbs_of_the_one_file(
    project: Project,
) -> None:
    plan = lay_out(project, ASKS_ONCE, allowed=False)
    with start_neovim(plan) as editor:
        editor.wait_for_lens("Start loop")
        editor.command("Ralph tasks")
        editor.wait_for_message("Ralph: one of answer, note")


def test_the_rock_has_every_module_and_the_server_knows_where_the_plugin_is() -> None:
    (rock,) = PLUGIN.glob("*.rockspec")
    text = rock.read_text(encoding="utf-8")
    listed = dict(re.findall(r'\["([\w.]+)"\] = "([^"]+)"', text))
    modules = {path.relative_to(PLUGIN) for path in (PLUGIN / "lua").rglob("*.lua")}
    assert {Path(path) for path in listed.values()} == modules
    assert {name: Path("lua", *name.split(".")).with_suffix(".lua") for name in listed} == {
        name: Path(path) for name, path in listed.items()
    }
    assert {path.name for path in PLUGIN.iterdir() if path.is_dir()} == {"doc", "lua", "plugin"}
    assert 'copy_directories = { "doc", "plugin" }' in text
    program = Path(sys.executable).with_name("ralph-ls")
    shown = subprocess.run([program, "--neovim-plugin"], capture_output=True, text=True, check=True)
    assert Path(shown.stdout.strip()) == PLUGIN


def test_the_help_is_found() -> None:
    lines = (PLUGIN / "doc" / "ralph.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 80] == []
    tags = re.findall(r"\*([^*\s]+)\*", "\n".join(lines))
    assert tags == ["ralph.txt", ":Ralph", "vim.g.ralph_cmd", "ralph.statusline"]
