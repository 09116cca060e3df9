"""Every file that a repository may have brought is read with ``store.files`` alone.

Whatever opens a file or lists a folder in another way could wait for a pipe, read a device for
ever, or take a file of any size. Those that may are named here, each with its reason.
"""

from __future__ import annotations

import ast
from pathlib import Path

import ralph_ls

PACKAGE = Path(ralph_ls.__file__).parent

DIRECT = {
    "copy2",
    "copyfile",
    "copytree",
    "file_digest",
    "fdopen",
    "glob",
    "iterdir",
    "listdir",
    "open",
    "read_bytes",
    "read_text",
    "rglob",
    "scandir",
    "walk",
    "write_bytes",
    "write_text",
}
"""Names of functions and methods that open a file or list a folder."""

OURS = "a file of the run or of the state folder, which no repository brings"
NULL = "the null device"
SHIPPED = "a file that comes with the program"
ALLOWED: dict[str, tuple[set[str], str]] = {
    "cli/live.py": ({"open"}, NULL),
    "cli/server_log.py": ({"open", "fdopen"}, "the log that the user names; never waits"),
    "cli/main.py": ({"open", "fdopen"}, NULL),
    "editor/loop_files.py": ({"glob"}, "the user's own pattern for plans; opens no file"),
    "editor/transport_stdio.py": ({"open"}, NULL),
    "engine/acp/__main__.py": ({"open"}, NULL),
    "engine/acp/conversation.py": (
        {"read_text", "write_text"},
        "those of engine/acp/files.py, which reads and writes with store.files",
    ),
    "engine/demo/agent.py": ({"open", "read_text"}, f"{OURS}; engine/demo/workspace.py reads"),
    "engine/demo/project.py": (
        {"iterdir", "read_bytes", "write_bytes"},
        f"{SHIPPED}, and a folder that was found empty",
    ),
    "engine/demo/workspace.py": (
        {"read_text", "write_bytes", "write_text"},
        "its own read_text; writes into the git folder of the sample it laid out",
    ),
    "engine/guard_keeper.py": (
        {"copy2", "walk"},
        "regular files; our own copies",
    ),
    "engine/health.py": ({"scandir"}, "looks whether the folder opens, and lists nothing"),
    "engine/iteration.py": ({"open"}, "a socket of our own"),
    "engine/keeper.py": ({"open", "fdopen"}, f"{NULL}, and a pipe of our own"),
    "engine/messages.py": ({"open"}, OURS),
    "engine/own_commits.py": ({"open"}, f"{OURS}; appends to it"),
    "engine/ownership.py": ({"glob"}, OURS),
    "engine/process.py": ({"open", "fdopen"}, f"{OURS}, and a pipe of our own"),
    "engine/process_tree.py": ({"open"}, "what the system tells of a process"),
    "engine/proposing.py": ({"write_text"}, OURS),
    "engine/repository_damage.py": ({"iterdir", "listdir"}, "looks at a few names, opens no file"),
    "engine/output_stream.py": ({"open"}, OURS),
    "engine/reaper.py": ({"fdopen", "open", "read_text"}, f"{NULL}, a pipe of our own; {OURS}"),
    "engine/sandbox/box.py": ({"read_bytes"}, OURS),
    "engine/sandbox/ending.py": (
        {"listdir", "read_bytes", "walk"},
        "what the system tells of processes; looks at names of the tree",
    ),
    "engine/sandbox/hooks.py": ({"iterdir"}, "looks at names, opens no file"),
    "engine/sandbox/available.py": ({"read_text"}, "what the system tells of itself"),
    "engine/sandbox/home.py": ({"scandir"}, "the user's own home; opens no file"),
    "engine/sandbox/hook_socket.py": ({"open"}, "a folder and a socket of our own"),
    "engine/sandbox/repository.py": (
        {"glob", "iterdir", "open", "walk"},
        "looks at names; writes files that were not there",
    ),
    "engine/sandbox/tokens.py": ({"fdopen", "open"}, "the user's own tokens; never waits"),
    "store/attempts_file.py": ({"glob"}, OURS),
    "store/files.py": ({"open", "fdopen", "scandir"}, "the one reader itself"),
    "store/git_locks.py": (
        {"copyfile", "iterdir", "listdir", "walk"},
        "looks at names; copies a lock file that was found to be a regular one",
    ),
    "store/supervisor.py": ({"fdopen"}, "a pipe of our own"),
    "store/git_inputs.py": ({"scandir"}, "counts what it looks at, and opens no file"),
    "store/held_files.py": ({"open"}, f"{OURS}; never waits"),
    "store/inbox.py": ({"read_bytes", "scandir"}, OURS),
    "store/inside.py": ({"iterdir"}, OURS),
    "store/journal.py": ({"open"}, f"{OURS}; writes it"),
    "store/jsonl_log.py": ({"open"}, f"{OURS}; opens only what it makes"),
    "store/launch.py": ({"open"}, OURS),
    "store/layout.py": ({"listdir"}, OURS),
    "store/notes.py": ({"glob"}, OURS),
    "store/programs.py": ({"scandir"}, "the user's own PATH"),
    "store/prompt_texts.py": ({"glob", "read_text"}, SHIPPED),
    "store/saves.py": ({"open"}, OURS),
    "store/setup_templates.py": ({"read_text"}, SHIPPED),
    "store/script_files.py": ({"glob"}, "a pattern of an allowed script; opens no file"),
    "store/specs.py": ({"walk"}, "counts what it looks at, and opens no file"),
}
"""Module: which of these it uses, and why none of them reads what a repository brought."""


def test_only_these_open_files_by_themselves() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        names = {name for name in called(path) if name in DIRECT}
        if names and not path.is_relative_to(PACKAGE / "core"):
            found[path.relative_to(PACKAGE).as_posix()] = names
    allowed = {module: names for module, (names, _) in ALLOWED.items()}
    assert {module: names - allowed.get(module, set()) for module, names in found.items()} == {
        module: set() for module in found
    }
    assert allowed.keys() <= found.keys()


def test_the_core_opens_nothing() -> None:
    """Its own ``read_text`` takes a text."""
    for path in (PACKAGE / "core").rglob("*.py"):
        assert not {"open", "read_bytes", "listdir", "scandir", "walk"} & called(path), path


def called(path: Path) -> set[str]:
    """The names of all functions and methods that are called in a module."""
    calls = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call))
    return {
        call.func.id if isinstance(call.func, ast.Name) else call.func.attr
        for call in calls
        if isinstance(call.func, ast.Name | ast.Attribute)
    }
