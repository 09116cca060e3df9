"""A work tree with a plan, specifications and what was done, and an editor on it.

Its texts are full of characters that each client counts in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.editor.in_process_editor import VS_CODE, InProcessEditor, Message, View, Views

PLAN = """\
# 計画 🚀
## High Priority
- [x] **US-001** 見積もり 🚀 see specs/login.md
- [ ] 🚀 US-002: Pay
  - Blocked by: 🚀 US-001, us-002
  - [ ] Inner
```
US-001
```
- [ ] US-002: Twice
"""
PROGRESS = "# Done\n- [x] US-001: 見積もり (US-009)\n- [x] US-009: 🚀\n"
LOGIN = "---\nstatus: active\ntags: [🚀, US-001]\ndependencies: [pay.md]\n---\n# Login\nUS-001\n"
PAY = "---\nstatus: implemented\n---\n# Pay\n"


def work_tree(folder: Path) -> View:
    """A work tree as its user left it."""
    (folder / "specs").mkdir()
    for name, text in {
        "@fix_plan.md": PLAN,
        "PROGRESS.md": PROGRESS,
        "specs/login.md": LOGIN,
        "specs/pay.md": PAY,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return View(folder.resolve())


async def desk_on(
    view: View, *, capabilities: str | None = VS_CODE, encodings: Sequence[str] | None = None
) -> InProcessEditor:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(capabilities, encodings=encodings)
    return editor


def open_file(editor: InProcessEditor, view: View, name: str, text: str | None = None) -> str:
    """Open a file of the work tree, as it is saved or with another text; its URI."""
    path = view.root / name
    return editor.open(path, path.read_text(encoding="utf-8") if text is None else text)


def place(line: int, character: int) -> Message:
    return {"line": line, "character": character}


def at(uri: str, line: int, character: int) -> Message:
    return {"textDocument": {"uri": uri}, "position": place(line, character)}


def span(where: Message) -> tuple[int, int, int, int]:
    """A range: line and character of its two ends."""
    start, end = where["start"], where["end"]
    return start["line"], start["character"], end["line"], end["character"]


async def ask(editor: InProcessEditor, method: str, uri: str, **more: Any) -> Any:
    params = {"textDocument": {"uri": uri}, **more}
    return await editor.request(f"textDocument/{method}", params)
