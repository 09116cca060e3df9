"""What completion knows of every verb: its options and arguments, and the values that are fixed.

Completion runs at each TAB and has no time to import the verbs themselves.
"""

from __future__ import annotations

import json
from typing import Any

from ralph_ls.cli.command_line import make_command
from ralph_ls.cli.commands.config import ACTIONS
from ralph_ls.cli.commands.lessons.manage import ACTIONS as LESSON_ACTIONS
from ralph_ls.cli.help_pages import GLOBAL_OPTIONS, TOPICS
from ralph_ls.cli.verbs import VERBS
from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.protocol.config.agent_catalog import ACP_VARIANTS, CATALOG
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.lessons import LessonScope

PATH = "server/ralph_ls/cli/shells/words.json"

KINDS = {
    "--profile": "PROFILE",
    "--agent": "AGENT",
    "--task": "TASK",
    "--run": "RUN",
    "--plan": "PLAN",
    "file": "FILE",
    "trace": "FILE",
    "folder": "DIR",
}
"""Of options and arguments whose value has no name in the help."""


def words() -> str:
    """The file, one line a verb."""
    commands = make_command(*VERBS).commands
    verbs = ",\n".join(f"    {_json(name)}: {_json(_verb(commands[name]))}" for name in VERBS)
    plans = [name for profile in PROFILES.values() for name in profile.plan_files]
    values = {"AGENT": [*CATALOG, *ACP_VARIANTS, "demo"], "PROFILE": list(ProfileName)}
    values["TOPIC"] = [name for name in TOPICS if name not in VERBS]
    values["ACTION"] = list(ACTIONS)
    values["ORDER"], values["SCOPE"] = list(LESSON_ACTIONS), list(LessonScope)
    program = [flag for flags, _ in GLOBAL_OPTIONS for flag in flags.split(", ")]
    return (
        "{\n"
        f'  "shells": {_json(["bash", "zsh", "fish"])},\n'
        f'  "program": {_json(program)},\n'
        f'  "plans": {_json([*plans, ".beads/issues.jsonl"])},\n'
        f'  "values": {_json(values)},\n'
        f'  "verbs": {{\n{verbs}\n  }}\n'
        "}\n"
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _verb(command: Any) -> dict[str, Any]:
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    options = {
        flag: [_kind(param), _text(param)]
        for param in shown
        if param.param_type_name == "option"
        for flag in (*param.opts, *param.secondary_opts)
    }
    options["--help"] = ["", "Show options and examples"]
    arguments = [_kind(param) for param in shown if param.param_type_name == "argument"]
    return {"options": options, "arguments": arguments}


def _kind(param: Any) -> str:
    """The name of a value; empty for a flag."""
    if getattr(param, "is_flag", False):
        return ""
    name = str(param.metavar or "").strip("[]")
    key = param.opts[0] if param.param_type_name == "option" else param.name
    return name or KINDS.get(key, "TEXT")


def _text(param: Any) -> str:
    """The first clause of an option's help, for shells that show texts."""
    text = str(param.help or "").replace("\n", " ")
    return text.partition(";")[0].partition(". ")[0].rstrip(".")[:60]
