"""Set-up order: built from flags, and in a terminal from prompts.

The rules are those of ``core.setup.draft``: a terminal prompts again after an error, a pipe ends
the command; warnings are shown and can be skipped. ``--from-existing`` imports what another tool of
this kind left (docs/rules.md#files): it shows what it would write, asks, and writes only our own
files.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from ralph_ls.cli.flags import agent_words
from ralph_ls.cli.output import emit_json, print_error, print_text
from ralph_ls.core.loop.profiles import to_tables
from ralph_ls.core.setup.draft import check_draft, errors_of
from ralph_ls.core.views.model.control_chars import escape_nonprintable
from ralph_ls.protocol.config.config import CONFIG_FILE, Config, ProfileName
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.setup import DraftItem, SetupParams, SetupProblem, TemplateChoice
from ralph_ls.protocol.task_words import Priority
from ralph_ls.store.files import make_folders_below, read_regular, resolve_inside, write_atomic
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.setup.existing_setup import RC_FILE, ExistingSetup, find_existing_setup
from ralph_ls.store.setup.setup import PROFILES_WITHOUT_ITEMS, profile_for
from ralph_ls.store.setup.task_templates import TaskTemplates, find_template, load_templates


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFlags:
    """What the flags said; None and empty where they did not."""

    profile: ProfileName | None = None
    description: str | None = None
    template: str | None = None
    items: tuple[str, ...] = ()
    completion_phrase: str | None = None
    agent: str | None = None
    agent_command: str | None = None
    agent_prompt: str | None = None
    max_iterations: int | None = None
    timeout: str | None = None
    max_cost_usd: float | None = None
    plan: str | None = None
    issue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOrder:
    """What is to be set up."""

    order: SetupParams
    is_bare: bool = False
    """Nobody says a task: only what the profile begins with is wanted."""


def collect_setup_order(given: SetupFlags, root: Path, *, asks: bool, dry_run: bool) -> SetupOrder:
    """What is wanted; with ``asks`` what is missing is asked for.

    Raises ``UsageError`` for what a flag says wrongly.
    """
    import os

    beside = {"profile", "issue"}
    is_given = any(getattr(given, one.name) for one in fields(given) if one.name not in beside)
    if asks:
        given = _with_profile(given, root)
    bare = SetupOrder(
        order=SetupParams(profile=given.profile, issue=given.issue, dry_run=dry_run), is_bare=True
    )
    is_known = given.issue is not None
    if not is_given and (is_known or not asks):
        return bare
    templates = load_templates(os.environ)
    template = find_template(templates, given.template) if given.template is not None else None
    description = _read(given.description)
    if asks and description is None and given.plan is None and not is_known:
        template = template or _ask_template(templates)
        description = _ask_description(template, may_be_empty=not is_given)
        if not description and template is None and not is_given:
            return bare
    elif description is None and template is not None:
        description = template.description
    elif description is not None:
        _report_problems(check_draft(description=description))
    items = tuple(_item(text) for text in given.items)
    if not items and template is not None:
        items = _as_drafts(template)
    if asks and not items and given.plan is None and given.profile not in PROFILES_WITHOUT_ITEMS:
        items = _ask_items()
    values = _values(given, template, asks=asks, root=root)
    try:
        order = SetupParams(
            description=description or "",
            template=None if template is None else template.id,
            items=items,
            existing_plan=given.plan,
            issue=given.issue,
            dry_run=dry_run,
            **values,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        flag = "--plan" if name == "existing_plan" else f"--{name.replace('_', '-')}"
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise UsageError(f"{flag}: {problem}") from error
    return SetupOrder(order=order)


def _with_profile(given: SetupFlags, root: Path) -> SetupFlags:
    """With the profile that the user chooses, and the path of an issue's request."""
    from ralph_ls.cli.commands.wizard import profile_choices

    profile = given.profile
    if profile is None and given.template is None and given.issue is None:
        choices = profile_choices()
        names = [choice.name for choice in choices]
        for number, choice in enumerate(choices, 1):
            print_text(f"{number:3}  {choice.name.value:8} {choice.title}: {choice.detail}")
        likely = names.index(profile_for(root, None).name) + 1
        chosen = typer.prompt("Profile", default=likely, type=int)
        while not 1 <= chosen <= len(names):
            chosen = typer.prompt(f"A number from 1 to {len(names)}", default=likely, type=int)
        profile = names[chosen - 1]
    issue = given.issue
    if profile is ProfileName.ISSUE and not (issue or given.plan or given.description):
        print_text(
            "Where is the request? A file such as issue.md, or an issue such as owner/name#123."
        )
        words = "The request (nothing: you say it here)"
        issue = str(typer.prompt(words, default="", show_default=False)).strip() or None
    return replace(given, profile=profile, issue=issue)


def _values(
    given: SetupFlags, template: TemplateChoice | None, *, asks: bool, root: Path
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "profile": given.profile or (template.profile if template is not None else None),
        "agent": given.agent,
        "max_iterations": given.max_iterations,
        "max_cost_usd": given.max_cost_usd,
    }
    words = agent_words(given.agent_command, given.agent_prompt, given.agent)
    if words is not None:
        values |= dict(zip(("agent_command", "agent_prompt"), words, strict=True))
    config = load_settings(root, {}, {}).config
    phrase, timeout = given.completion_phrase, given.timeout
    if asks and phrase is None:
        phrase = _ask_phrase(config)
    if asks and timeout is None:
        timeout = _ask_timeout(config)
    _require(check_draft(completion_phrase=phrase, timeout=timeout))
    return values | {"completion_phrase": phrase, "timeout": timeout}


def _read(description: str | None) -> str | None:
    return sys.stdin.read() if description == "-" else description


def _ask_template(templates: TaskTemplates) -> TemplateChoice | None:
    for problem in templates.problems:
        print_text(f"Note: {problem}")
    for number, choice in enumerate(templates.choices, 1):
        print_text(f"{number:3}  {choice.title}: {choice.detail}".rstrip(": "))
    count = len(templates.choices)
    chosen = typer.prompt("Template (0 for none)", default=0, type=int)
    while not 0 <= chosen <= count:
        chosen = typer.prompt(f"A number from 0 to {count}", default=0, type=int)
    return templates.choices[chosen - 1] if chosen else None


def _ask_description(template: TemplateChoice | None, *, may_be_empty: bool) -> str:
    """One line, or several ended by an empty one; with a template nothing keeps its own."""
    if template is not None:
        print_text(f"The template's description, to be filled in later:\n\n{template.description}")
    empty = "keep the template's" if template else "only what the profile begins with"
    hint = f" (nothing: {empty})" if template or may_be_empty else ""
    while True:
        print_text(f"What is to be done?{hint} An empty line ends it.")
        text = "\n".join(_ask_lines())
        if not text and (template is not None or may_be_empty):
            return template.description if template is not None else ""
        problems = check_draft(description=text)
        for problem in problems:
            print_text(f"{problem.severity.value}: {problem.message}")
        fix = next((problem.fix for problem in problems if problem.fix is not None), None)
        if errors_of(problems):
            continue
        if fix is not None and typer.confirm(f"Add: {fix.text}?", default=True):
            text = f"{text}\n{fix.text}"
            problems = check_draft(description=text)
        if not problems or typer.confirm("Take it as it is?", default=True):
            return text


def _ask_items() -> tuple[DraftItem, ...]:
    while True:
        print_text("Plan items, one a line, such as: P0 Fix the login. An empty line ends them.")
        items = tuple(_item(line) for line in _ask_lines())
        problems = check_draft(items=items)
        if not problems:
            return items
        for problem in problems:
            print_text(f"{problem.severity.value}: {problem.message}")


def _ask_lines() -> list[str]:
    """Lines up to an empty one; the end of the input gives the whole thing up."""
    lines: list[str] = []
    while line := typer.prompt("", default="", show_default=False, prompt_suffix="> ").strip():
        lines.append(line)
    return lines


def _ask_phrase(config: Config) -> str:
    return _ask_valid(
        "Completion phrase",
        config.promise.complete,
        lambda text: check_draft(completion_phrase=text),
    )


def _ask_timeout(config: Config) -> str:
    minutes = max(1, int(config.timeout // 60))
    return _ask_valid(
        "Timeout of an iteration", f"{minutes}m", lambda text: check_draft(timeout=text)
    )


def _ask_valid(
    question: str, default: str, check: Callable[[str], tuple[SetupProblem, ...]]
) -> str:
    while True:
        text = str(typer.prompt(question, default=default)).strip()
        problems = check(text)
        if not problems:
            return text
        print_text(f"{problems[0].severity.value}: {problems[0].message}")


def _report_problems(problems: tuple[SetupProblem, ...]) -> None:
    """Errors end the command; the rest goes to standard error, which no program parses."""
    _require(problems)
    for problem in problems:
        print_error(f"{problem.severity.value}: {problem.message}")


def _require(problems: tuple[SetupProblem, ...]) -> None:
    errors = errors_of(problems)
    if errors:
        raise UsageError(errors[0].message.rstrip("."))


def _item(text: str) -> DraftItem:
    found = _PRIORITY.match(text)
    if found is None:
        return DraftItem(title=text.strip())
    return DraftItem(title=text[found.end() :].strip(), priority=Priority(found[1].upper()))


def _as_drafts(template: TemplateChoice) -> tuple[DraftItem, ...]:
    return tuple(
        DraftItem(title=item.title, priority=item.priority, detail=item.detail)
        for item in template.items
    )


_PRIORITY = re.compile(r"\s*\[?(P[012])\]?(?:\s*:\s*|\s+)", re.IGNORECASE)


PROMPT = f"{Config().paths.prompts}/PROMPT_build.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    path: str
    data: bytes
    source: str


def import_existing(
    root: Path, *, gitignore: bytes | None, yes: bool, as_json: bool
) -> list[str] | None:
    """Show, ask and write, ``gitignore`` too where it is given; the files written.

    None where nothing was written, since the user said no or a program only looked.

    Raises ``UsageError`` where there is nothing to take over, or nobody to ask.
    """
    found = find_existing_setup(root)
    if found is None:
        raise UsageError(
            f"nothing of another loop was found in {root}: looked for plans such as "
            f".ralph/fix_plan.md and scripts/ralph/prd.json, and for {RC_FILE}; "
            "set up a new loop with: ralph init"
        )
    writes = _writes(root, found)
    if gitignore is not None:
        writes.append(_Write(path=".gitignore", data=gitignore, source="the loop's own files"))
    if as_json and not yes:
        emit_json(_as_json(found, writes, written=()))
        return None
    if not as_json:
        _show(found, writes)
    if not yes and not sys.stdin.isatty():
        raise UsageError("taking over needs a terminal to ask in, or --yes")
    if not yes and not typer.confirm("Write this?", default=False):
        print_text("Nothing was written")
        return None
    for write in writes:
        target = resolve_inside(root, write.path)
        make_folders_below(root, target.parent)
        write_atomic(target, write.data, expected=None)
    written = [write.path for write in writes]
    if as_json:
        emit_json(_as_json(found, writes, written=tuple(written)))
    return written


def _writes(root: Path, found: ExistingSetup) -> list[_Write]:
    """The files that are missing here; existing ones are the user's, and stay."""
    writes: list[_Write] = []
    if not (root / CONFIG_FILE).exists():
        source = RC_FILE if found.settings else found.plan
        writes.append(_Write(path=CONFIG_FILE, data=_config(found).encode(), source=source))
    if found.prompt is not None and not (root / PROMPT).exists():
        data = read_regular(resolve_inside(root, found.prompt))
        if data is not None:
            writes.append(_Write(path=PROMPT, data=data, source=found.prompt))
    return writes


def _config(found: ExistingSetup) -> str:
    lines = [f'profile = "{found.profile.value}"']
    plain = {key: value for key, value in found.settings.items() if "." not in key}
    lines += [f"{key} = {_toml(value)}" for key, value in plain.items()]
    tables = to_tables({key: value for key, value in found.settings.items() if "." in key})
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """JSON writes strings, lists of strings, numbers and truth values as TOML does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _show(found: ExistingSetup, writes: list[_Write]) -> None:
    print_text(
        f"Found: {escape_nonprintable(found.plan)}, a plan for the profile {found.profile.value}"
    )
    for write in writes:
        print_text(f"── would write {write.path}, from {write.source}")
        text = write.data.decode("utf-8", errors="replace")
        for line in escape_nonprintable(text).splitlines() if write.path == CONFIG_FILE else []:
            print_text(f"   {line}")
    if not writes:
        print_text("── nothing to write: the settings and the prompt are there already")
    for sentence in found.not_taken:
        print_text(f"── not taken: {escape_nonprintable(sentence)}")
    if found.kept:
        print_text(f"── stays as it is: {', '.join(found.kept)}")


def _as_json(
    found: ExistingSetup, writes: list[_Write], *, written: tuple[str, ...]
) -> dict[str, object]:
    return {
        "profile": found.profile.value,
        "plan": found.plan,
        "settings": dict(found.settings),
        "wouldWrite": [] if written else [write.path for write in writes],
        "written": list(written),
        "notTaken": list(found.not_taken),
        "kept": list(found.kept),
    }
