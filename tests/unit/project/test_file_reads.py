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
    "client/replay.py": ({"write_text"}, "the report that the author of a client names"),
    "client/sessions.py": ({"glob", "read_text"}, f"{SHIPPED}, or one that its user names"),
    "cli/commands/help.py": ({"read_text"}, SHIPPED),
    "cli/commands/runs/dashboard.py": ({"open"}, "opens the user's browser, and no file"),
    "cli/dashboard/page.py": ({"read_text"}, SHIPPED),
    "cli/completion.py": (
        {"open", "read_bytes", "read_text"},
        f"{SHIPPED}; appends to the start-up file of the user's shell",
    ),
    "cli/language_server.py": ({"fdopen", "open"}, "the log that the user names; never waits"),
    "cli/main.py": ({"fdopen", "open"}, NULL),
    "cli/help_pages.py": ({"read_text"}, SHIPPED),
    "cli/output.py": ({"open"}, NULL),
    "editor/lsp/stdio.py": ({"open"}, NULL),
    "store/iteration_socket.py": ({"open"}, "a folder of our own, for its socket"),
    "store/editors.py": ({"listdir"}, OURS),
    "store/fleet_waiting.py": ({"glob"}, OURS),
    "editor/worktree/snapshot.py": ({"glob"}, "the user's own pattern for plans; opens no file"),
    "engine/agent/acp/__main__.py": ({"open"}, NULL),
    "engine/agent/acp/conversation.py": (
        {"read_text", "write_text"},
        "those of engine/agent/acp/policy.py, which reads and writes with store.files",
    ),
    "engine/demo/agent.py": ({"open", "read_text"}, f"{OURS}; engine/demo/sample.py reads"),
    "engine/demo/project.py": (
        {"iterdir", "read_bytes", "write_bytes"},
        f"{SHIPPED}, and a folder that was found empty",
    ),
    "engine/demo/sample.py": (
        {"read_text", "write_bytes", "write_text"},
        "its own read_text; writes into the git folder of the sample it laid out",
    ),
    "engine/git/repository_damage.py": (
        {"iterdir", "listdir"},
        "looks at a few names, opens no file",
    ),
    "engine/guard/protected_files.py": ({"copy2", "walk"}, "regular files; our own copies"),
    "engine/iteration/agent_logs.py": ({"open"}, OURS),
    "engine/iteration/agent_process.py": ({"open"}, "a socket of our own"),
    "engine/iteration/judge.py": ({"open"}, "the judge's own tool, and no file"),
    "engine/iteration/judge_tool.py": ({"open"}, "a socket of our own"),
    "engine/iteration/health.py": (
        {"scandir"},
        "looks whether the folder opens, and lists nothing",
    ),
    "engine/iteration/inherited_changes.py": ({"glob"}, OURS),
    "engine/iteration/worktree_inspector.py": ({"open"}, f"{OURS}; appends to it"),
    "engine/parallel/lane_main.py": ({"open"}, f"{NULL}; {OURS}"),
    "engine/parallel/lane_starter.py": ({"open", "read_bytes"}, OURS),
    "engine/parallel/lane_worktree.py": (
        {"fdopen", "open"},
        "writes files of a new work tree that were not there",
    ),
    "engine/parallel/merge_branch.py": ({"write_text"}, "a temporary folder of our own"),
    "engine/process/process_tree.py": ({"open"}, "what the system tells of a process"),
    "engine/process/reaper.py": (
        {"fdopen", "open", "read_text"},
        f"{NULL}, a pipe of our own; {OURS}",
    ),
    "engine/process/running_process.py": ({"fdopen", "open"}, f"{OURS}, and a pipe of our own"),
    "engine/process/streams.py": ({"open"}, OURS),
    "engine/run/agent_question.py": ({"write_text"}, OURS),
    "engine/sandbox/box.py": ({"read_bytes"}, OURS),
    "engine/sandbox/cleanup.py": (
        {"fdopen", "listdir", "open", "read_bytes", "walk"},
        "what the system reports of processes; names of the tree; the user's own tokens",
    ),
    "engine/agent/mcp_offer.py": ({"scandir"}, "the user's own settings of an agent, by name"),
    "engine/sandbox/home.py": ({"scandir"}, "the user's own home; opens no file"),
    "engine/sandbox/launch.py": ({"iterdir"}, "looks at names, opens no file"),
    "engine/sandbox/repository.py": (
        {"glob", "iterdir", "open", "walk"},
        "looks at names; writes files that were not there",
    ),
    "engine/sandbox/selection.py": ({"read_text"}, "what the system tells of itself"),
    "engine/worktree/keeper.py": ({"fdopen", "open"}, f"{NULL}, and a pipe of our own"),
    "store/external/git_locks.py": (
        {"copyfile", "iterdir", "listdir", "walk"},
        "looks at names; copies a lock file that was found to be a regular one",
    ),
    "store/external/git_safety.py": ({"scandir"}, "counts what it looks at, and opens no file"),
    "store/external/programs.py": ({"scandir"}, "the user's own PATH"),
    "store/external/supervisor.py": ({"fdopen"}, "a pipe of our own"),
    "store/files.py": (
        {"fdopen", "open", "scandir"},
        f"the one reader itself; {OURS}; never waits",
    ),
    "store/layout.py": ({"listdir"}, OURS),
    "store/project/detection.py": ({"walk"}, "counts what it looks at, and opens no file"),
    "store/project/plan_file.py": ({"open"}, OURS),
    "store/project/project_state.py": ({"glob"}, OURS),
    "store/project/config_edit.py": ({"read_bytes"}, SHIPPED),
    "store/project/settings_reference.py": ({"read_text"}, SHIPPED),
    "store/project/prompt_texts.py": ({"glob", "read_text"}, SHIPPED),
    "store/project/scripts.py": ({"glob"}, "a pattern of an allowed script; opens no file"),
    "store/run/ancestry.py": ({"glob", "iterdir"}, OURS),
    "store/run/inbox.py": ({"glob", "read_bytes", "scandir"}, OURS),
    "store/run/journal.py": ({"open"}, f"{OURS}; writes it"),
    "store/run/launch.py": ({"open"}, OURS),
    "store/run/logs.py": ({"open"}, f"{OURS}; opens only what it makes"),
    "store/run/pruning.py": ({"listdir", "scandir"}, f"{OURS}; opens none of what it lists"),
    "store/run/state_index.py": ({"glob"}, OURS),
    "store/setup/task_templates.py": ({"read_text"}, SHIPPED),
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
