"""Completion for bash, zsh and fish: what can follow at the cursor, and the scripts that ask.

The scripts ask at each TAB, so this imports neither the command-line library nor a verb: names of
options come from ``shells/words.json``, which is generated. Task ids are read from the plan, runs
from the state folder, and names of own agents from the settings; nothing of the repository is run.
Only values of plain characters are offered, so that no shell has to quote them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ralph_ls.cli.output import print_text
from ralph_ls.cli.verbs import ALIASES, VERBS
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.store.files import read_regular, write_atomic

SHELLS = Path(__file__).with_name("shells")
WORDS = SHELLS / "words.json"

INSTALL = "--install-completion"
SHOW = "--show-completion"

FILES = ":files"
"""The answer that leaves the completion of paths to the shell."""

PLAIN = re.compile(r"\w[\w./+-]*")
"""Values that no shell takes apart, expands or hides."""

MOST = 200
"""How many values of a kind are offered."""

LARGEST = 1 << 20
"""Bytes of a plan or of settings that are read at a TAB."""

LONGEST_TEXT = 60
"""Characters of the text beside a value."""

Candidate = tuple[str, str]
"""A value, and a few words about it."""


def answer(arguments: Sequence[str]) -> None:
    """Print what can follow, one a line: ``SHELL WORD...``, the last word as far as it is typed."""
    shell, *words = arguments or [""]
    for value, text in complete(words or [""], joined=shell != "bash"):
        shown = escape_control_chars(" ".join(text.split()))
        sys.stdout.write(f"{value}\n" if shell == "bash" or not shown else f"{value}\t{shown}\n")


def complete(words: Sequence[str], *, joined: bool = True) -> list[Candidate]:
    """The candidates for the last word; those of ``--option=`` with the option if ``joined``."""
    *before, current = words if joined else _without_equals_signs(words)
    known: dict[str, Any] = json.loads(WORDS.read_bytes())
    if not before:
        return _starting(current, [*_verbs(known), *((flag, "") for flag in known["program"])])
    if before[-1] in {INSTALL, SHOW}:
        return _starting(current, [(name, "") for name in known["shells"]])
    verb = known["verbs"].get(ALIASES.get(before[0], before[0]))
    return [] if verb is None else _of_verb(verb, before[1:], current, known, joined=joined)


def _of_verb(
    verb: Mapping[str, Any],
    before: Sequence[str],
    current: str,
    known: Mapping[str, Any],
    *,
    joined: bool,
) -> list[Candidate]:
    options: Mapping[str, Sequence[str]] = verb["options"]
    flag, equals, value = current.partition("=")
    if equals and flag in options:
        prefix = f"{flag}=" if joined else ""
        found = _starting(value, _values(options[flag][0], known))
        return [(f"{prefix}{one}", text) for one, text in found]
    awaited = options.get(before[-1], ("",))[0] if before else ""
    if awaited:
        return _starting(current, _values(awaited, known))
    if current.startswith("-"):
        return _starting(current, [(name, text) for name, (_, text) in options.items()])
    given = list(_positionals(before, options))
    kinds = verb["arguments"][len(given) :]
    if kinds and "ACTION" in verb["arguments"]:
        return _starting(current, _of_config(given, known))
    return _starting(current, _values(kinds[0], known)) if kinds else []


def _of_config(given: Sequence[str], known: Mapping[str, Any]) -> list[Candidate]:
    """An action, a key with what it is, or a value of that key."""
    from ralph_ls.store.project.settings_reference import find_setting

    if not given:
        return [(name, "") for name in known["values"]["ACTION"]]
    if len(given) == 1:
        return list(_keys()) if given[0] in {"get", "set", "unset", "explain"} else []
    facts = find_setting(given[1]) if given[0] == "set" else None
    if facts is None:
        return []
    if facts.key in {"agent", "profile"}:
        return _values(facts.key.upper(), known)
    if facts.type == "true or false":
        return [("true", ""), ("false", "")]
    return [(word, text) for word, text in facts.values.items() if PLAIN.fullmatch(word)]


def _keys() -> Iterator[Candidate]:
    """The keys of settings; those below a name for each name that the settings here have."""
    from ralph_ls.store.project.settings_reference import all_settings

    try:
        settings: Mapping[str, Any] = _settings(_root())
    except (RalphError, OSError, ValueError, RecursionError):
        settings = {}
    for one in all_settings():
        table, _, rest = one.key.partition(".NAME.")
        names = settings.get(table) if rest else None
        if not rest:
            yield one.key, one.about[:LONGEST_TEXT]
        elif isinstance(names, dict):
            for name in filter(PLAIN.fullmatch, names):
                yield f"{table}.{name}.{rest}", one.about[:LONGEST_TEXT]


def _without_equals_signs(words: Sequence[str]) -> list[str]:
    """The words that bash splits at ``=``, joined again except the last value."""
    found: list[str] = []
    for index, word in enumerate(words):
        is_last = index == len(words) - 1
        if word == "=" and found:
            if is_last:
                found.append("")
        else:
            found.append(word)
    return found


def _positionals(words: Sequence[str], options: Mapping[str, Sequence[str]]) -> Iterator[str]:
    takes_value = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word.startswith("-") and word != "-":
            takes_value = bool(options.get(word, ("",))[0])
        else:
            yield word


def _starting(current: str, found: Sequence[Candidate]) -> list[Candidate]:
    if found and found[0][0] == FILES:
        return [(FILES, "")]
    return [one for one in found if one[0].startswith(current)]


def _values(kind: str, known: Mapping[str, Any]) -> list[Candidate]:
    """The values of one kind, as the name of an option's value in its help says it."""
    if "|" in kind:
        return [(name, "") for name in kind.strip("[]").split("|")]
    if kind in {"FILE", "DIR"}:
        return [(FILES, "")]
    fixed = [(name, "") for name in known["values"].get(kind, ())]
    reader = _READERS.get(kind)
    if reader is None:
        return fixed
    try:
        return [*fixed, *reader(known)]
    except (RalphError, OSError, ValueError, RecursionError):
        return fixed


def _verbs(_: Mapping[str, Any]) -> list[Candidate]:
    return [(name, verb.summary) for name, verb in VERBS.items()]


def _root() -> Path:
    from ralph_ls.store.layout import find_worktree

    return find_worktree(Path.cwd()).root


def _settings(root: Path) -> Mapping[str, Any]:
    data = read_regular(root / ".ralph/config.toml", LARGEST)
    if data is None:
        return {}
    import tomllib

    return tomllib.loads(data.decode("utf-8", "replace"))


def _own_agents(known: Mapping[str, Any]) -> list[Candidate]:
    own = _settings(_root()).get("agents")
    names = own if isinstance(own, dict) else {}
    fixed = known["values"]["AGENT"]
    return [(name, "") for name in names if name not in fixed and PLAIN.fullmatch(name)]


def _runs(_: Mapping[str, Any]) -> list[Candidate]:
    """Newest first."""
    from ralph_ls.store.layout import find_worktree, state_folder, state_root

    worktree = find_worktree(Path.cwd())
    state = state_folder(state_root(os.environ), worktree)
    if not state.run_ids():
        # It was moved here, if there ever was a run.
        from ralph_ls.store.run.state_index import find_state

        state = find_state(state_root(os.environ), worktree)
    return [(run, "") for run in reversed(state.run_ids()[-MOST:])]


def _tasks(known: Mapping[str, Any]) -> list[Candidate]:
    found = islice(_tasks_of_plan(known), 5 * MOST)
    plain = ((one, text[:LONGEST_TEXT]) for one, text in found if PLAIN.fullmatch(one))
    return list(islice(plain, MOST))


def _tasks_of_plan(known: Mapping[str, Any]) -> Iterator[Candidate]:
    """Ids and titles of the first plan that is here."""
    root = _root()
    name = _plan_of(root, known)
    data = None if name is None else read_regular(root / name, LARGEST)
    if name is None or data is None:
        return iter(())
    return _read_tasks(name, data.decode("utf-8", "replace"))


def _plans(_: Mapping[str, Any]) -> list[Candidate]:
    """The names of the plans of other tools; without any, files."""
    from ralph_ls.store.project.plan_choice import all_plans

    names = {one.name: one.address for one in all_plans(_root())}
    found = [(name, path) for name, path in names.items() if PLAIN.fullmatch(name)]
    return found[:MOST] or [(FILES, "")]


def plan_of(root: Path) -> str | None:
    """The path of the plan here, by file names alone; cheaper than all settings."""
    return _plan_of(root, json.loads(WORDS.read_bytes()))


def _plan_of(root: Path, known: Mapping[str, Any]) -> str | None:
    try:
        paths = _settings(root).get("paths")
    except (RalphError, ValueError):
        paths = None
    named = paths.get("plan") if isinstance(paths, dict) else None
    names = [named] if isinstance(named, str) else known["plans"]
    return next((name for name in names if (root / name).is_file()), None)


def _read_tasks(name: str, text: str) -> Iterator[Candidate]:
    if name.endswith(".jsonl"):
        return _issues(text)
    if name.endswith(".json"):
        from ralph_ls.core.plan.formats.stories.story_file import read_stories

        return ((one.id, one.title) for one in read_stories(text).stories.stories)
    from ralph_ls.core.plan.parse.markdown import parse_markdown

    return ((one.id, one.title) for one in parse_markdown(text).plan.tasks)


def _issues(text: str) -> Iterator[Candidate]:
    for line in text.splitlines():
        issue = json.loads(line) if line.strip() else None
        if isinstance(issue, dict) and issue.get("status") != "closed":
            yield str(issue.get("id", "")), str(issue.get("title", ""))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], list[Candidate]]] = {
    "TOPIC": _verbs,
    "AGENT": _own_agents,
    "RUN": _runs,
    "TASK": _tasks,
    "PLAN": _plans,
}


def show(shell: str | None = None) -> None:
    """Print the script of a shell."""
    sys.stdout.write(_script(_shell_named(shell)))


def install(shell: str | None = None) -> None:
    """Write the script where the shell finds it, or have its start-up file read it."""
    name = _shell_named(shell)
    home = Path.home()
    if name == "fish":
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish/completions"
        script, startup = folder / "ralph.fish", None
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
        script = data / "ralph" / f"completion.{name}"
        startup = home / ".bashrc"
        if name == "zsh":
            startup = Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
    script.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(script, _script(name).encode(), mode=0o644)
    print_text(f"Wrote {script}")
    if startup is not None and _add_line(startup, _source_line(script)):
        print_text(f"Added a line to {startup}")
    print_text(f"Open a new {name}, then try: ralph run --<TAB>")


def _script(shell: str) -> str:
    return (SHELLS / f"ralph.{shell}").read_text(encoding="utf-8")


def _source_line(script: Path) -> str:
    import shlex

    quoted = shlex.quote(str(script))
    return f"[ -r {quoted} ] && . {quoted}  # completion of ralph"


def _add_line(file: Path, line: str) -> bool:
    """Append a line, unless it is there already."""
    data = read_regular(file) or b""
    if line.encode() in data.splitlines():
        return False
    separator = b"" if not data or data.endswith(b"\n") else b"\n"
    with file.open("ab") as opened:
        opened.write(separator + line.encode() + b"\n")
    return True


def _shell_named(given: str | None) -> str:
    """The shell that is named, else that of the user."""
    names = json.loads(WORDS.read_bytes())["shells"]
    name = Path(os.environ.get("SHELL", "")).name if given is None else given
    if name in names:
        return name
    from ralph_ls.core.suggestions import did_you_mean

    if given is None:
        raise UsageError(f"name your shell: ralph {INSTALL} {'|'.join(names)}")
    raise UsageError(
        f"there is no completion for {given!r}{did_you_mean(given, names)}; "
        f"there is: {', '.join(names)}"
    )
