"""Set-up order: built from flags, and with ``--advanced`` from nine questions.

The rules are those of ``core.setup.draft``: a terminal asks again after an error, a pipe ends the
command.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from ralph_ls.cli.flags import agent_words, duration
from ralph_ls.cli.output import print_text
from ralph_ls.core.setup.documents import spec_title
from ralph_ls.core.setup.draft import check_draft, errors_of
from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.setup import (
    DraftItem,
    SetupField,
    SetupParams,
    SetupProblem,
    TemplateChoice,
)
from ralph_ls.protocol.plan import STDIN
from ralph_ls.protocol.task_words import Priority
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.setup.setup import PROFILES_WITHOUT_ITEMS, profile_for
from ralph_ls.store.setup.task_templates import (
    TaskTemplates,
    find_template,
    load_templates,
    read_project,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFlags:
    """What the flags said; None and empty where they did not."""

    profile: ProfileName | None = None
    task: str | None = None
    description: str | None = None
    template: str | None = None
    items: tuple[str, ...] = ()
    completion_phrase: str | None = None
    agent: str | None = None
    agent_command: str | None = None
    agent_prompt: str | None = None
    max_iterations: int | None = None
    timeout: str | None = None
    max_time: str | None = None
    max_cost: float | None = None
    branch: str | None = None
    plan: str | None = None
    issue: str | None = None

    @property
    def names_work(self) -> bool:
        """Whether they say what to do."""
        return bool(
            self.task is not None
            or self.description is not None
            or self.template
            or self.items
            or self.plan
            or self.issue
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOrder:
    """What is to be set up."""

    order: SetupParams
    is_bare: bool = False
    """No task is given: only what the profile begins with is wanted."""
    hint: str = ""
    """The one thing that would make a description better."""


LONGEST_TASK = 160
"""Characters of a task that fits into one item of a plan; a longer one becomes a specification."""


def order_from_flags(given: SetupFlags, root: Path, *, dry_run: bool) -> SetupOrder:
    """What the flags order; raises ``UsageError`` for what a flag says wrongly."""
    profile = profile_for(root, given.profile).name
    template = _template_of(given)
    task, description = _text_of("--task", given.task), _text_of("--description", given.description)
    items = tuple(_item(text) for text in given.items)
    if template is not None:
        items = items or _items_of(template, task, root)
        description = _joined(task, description or template.description)
    elif task is not None and _is_long(task, profile):
        is_request = profile is ProfileName.ISSUE
        items = items if is_request else (DraftItem(title=spec_title(task)), *items)
        description = _joined(task, description)
    elif task is not None:
        items = (_item(task), *items)
    if description and not (items or given.plan or profile in PROFILES_WITHOUT_ITEMS):
        items = (DraftItem(title=spec_title(description)),)
    order = _order(given, template, description or "", items, dry_run=dry_run)
    is_bare = not (description or items or given.plan)
    return SetupOrder(order=order, is_bare=is_bare, hint=_hint_for(given.description))


def _is_long(task: str, profile: ProfileName) -> bool:
    """Whether a task is more than an item of a plan; a request has no items."""
    return len(task) > LONGEST_TASK or "\n" in task or profile is ProfileName.ISSUE


def _joined(*texts: str | None) -> str:
    return "\n\n".join(text for text in texts if text)


def _template_of(given: SetupFlags) -> TemplateChoice | None:
    if given.template is None:
        return None
    return find_template(load_templates(os.environ), given.template)


def _text_of(flag: str, text: str | None) -> str | None:
    """The text of a flag, of standard input for ``-``; raises ``UsageError`` for an empty one."""
    found = sys.stdin.read() if text == STDIN else text
    if found is not None and not found.strip():
        raise UsageError(
            f"{flag} is empty; say what the agent should do, such as: {flag} 'Fix the login'"
        )
    return None if found is None else found.strip()


def _items_of(template: TemplateChoice, task: str | None, root: Path) -> tuple[DraftItem, ...]:
    """The items of a template; in a project that exists nothing is set up, and the task is one."""
    items = tuple(
        DraftItem(title=item.title, priority=item.priority, detail=item.detail)
        for item in template.items
    )
    if not read_project(root).checks:
        return items
    left = tuple(item for item in items if not item.title.startswith(SET_UP))
    is_short = task is not None and len(task) <= LONGEST_TASK and "\n" not in task
    first = DraftItem(title=task or "", priority=Priority.P0)
    return (first, *left) if is_short else left


SET_UP = "Set up the project"
"""How the item of a template begins that a project which exists does not need."""


def _hint_for(description: str | None) -> str:
    if description is None or description == STDIN:
        return ""
    codes = {problem.code for problem in check_draft(description=description)}
    is_vague = "criteria-missing" in codes
    return "say when it is done, such as: Done when the tests pass" if is_vague else ""


def _order(
    given: SetupFlags,
    template: TemplateChoice | None,
    description: str,
    items: tuple[DraftItem, ...],
    *,
    dry_run: bool,
) -> SetupParams:
    """The order; raises ``UsageError`` for a value that is none."""
    _require(check_draft(completion_phrase=given.completion_phrase, timeout=given.timeout))
    values: dict[str, Any] = {
        "profile": given.profile or (template.profile if template is not None else None),
        "agent": given.agent,
        "max_iterations": given.max_iterations,
        "max_cost_usd": given.max_cost,
        "max_duration": duration("--max-time", given.max_time) or None,
        "work_branch": given.branch,
        "completion_phrase": given.completion_phrase,
        "timeout": given.timeout,
    }
    words = agent_words(given.agent_command, given.agent_prompt, given.agent)
    if words is not None:
        values |= dict(zip(("agent_command", "agent_prompt"), words, strict=True))
    try:
        return SetupParams(
            description=description,
            template=None if template is None else template.id,
            items=items,
            existing_plan=given.plan,
            issue=given.issue,
            dry_run=dry_run,
            **values,
        )
    except ValidationError as error:
        raise UsageError(_in_words(error)) from error


_FLAGS = {
    "existing_plan": "--plan",
    "max_cost_usd": "--max-cost",
    "max_duration": "--max-time",
    "work_branch": "--branch",
}
"""Flags that have another name than their field."""


def _in_words(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    if first["type"] == "greater_than":
        return f"{flag} {first['input']:g}: give a number above 0, or leave it out for no limit"
    return f"{flag}: {str(first['msg']).removeprefix('Value error, ')}"


def advanced_order(given: SetupFlags, root: Path, *, dry_run: bool) -> SetupOrder:
    """What nine questions and the flags order; what a flag says is not asked.

    Raises ``UsageError`` for what a flag says wrongly.
    """
    had_work = given.names_work
    given = _with_profile(given, root)
    is_known = given.issue is not None
    templates = load_templates(os.environ)
    template = _template_of(given)
    description = _text_of("--description", given.description)
    if description is None and given.plan is None and not is_known:
        template = template or _ask_template(templates)
        description = _ask_description(template, may_be_empty=not had_work)
        if not description and template is None and not had_work:
            return SetupOrder(order=_order(given, None, "", (), dry_run=dry_run), is_bare=True)
    items = tuple(_item(text) for text in given.items)
    if not items and template is not None:
        items = _items_of(template, None, root)
    if not items and given.plan is None and given.profile not in PROFILES_WITHOUT_ITEMS:
        items = _ask_items()
    config = load_settings(root, {}, {}).config
    given = replace(
        given,
        completion_phrase=given.completion_phrase or _ask_phrase(config),
        timeout=given.timeout or _ask_timeout(config),
    )
    return SetupOrder(order=_order(given, template, description or "", items, dry_run=dry_run))


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
    empty = "keep the template's" if template else "an empty plan"
    hint = f" (Enter: {empty})" if template or may_be_empty else ""
    while True:
        print_text(f"What should be done?{hint} An empty line ends it.")
        text = "\n".join(_ask_lines())
        if not text and (template is not None or may_be_empty):
            return template.description if template is not None else ""
        problems = check_draft(description=text)
        _show_problems(problems)
        if not errors_of(problems):
            return _with_fix(text, problems)


def _with_fix(text: str, problems: Sequence[SetupProblem]) -> str:
    fix = next((problem.fix for problem in problems if problem.fix is not None), None)
    is_wanted = fix is not None and typer.confirm(f"Add: {fix.text}?", default=True)
    return f"{text}\n{fix.text}" if fix is not None and is_wanted else text


def _show_problems(problems: Sequence[SetupProblem]) -> None:
    for problem in problems:
        print_text(f"{problem.severity.value}: {problem.message}")


def _ask_items() -> tuple[DraftItem, ...]:
    while True:
        print_text("Plan items, one a line, such as: P0 Fix the login. An empty line ends them.")
        items = tuple(_item(line) for line in _ask_lines())
        problems = check_draft(items=items)
        if not problems:
            return items
        _show_problems(problems)


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
    minutes = max(1, int(config.timeouts.iteration // 60))
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


def _require(problems: tuple[SetupProblem, ...]) -> None:
    errors = errors_of(problems)
    if errors:
        first = errors[0]
        raise UsageError(f"{_FLAG_OF_FIELD.get(first.field, '')}{first.message.rstrip('.')}")


_FLAG_OF_FIELD = {
    SetupField.COMPLETION_PHRASE: "--completion-phrase: ",
    SetupField.TIMEOUT: "--timeout: ",
}
"""How a problem begins whose message does not name what it is about."""


def _item(text: str) -> DraftItem:
    found = _PRIORITY.match(text)
    if found is None:
        return DraftItem(title=text.strip())
    return DraftItem(title=text[found.end() :].strip(), priority=Priority(found[1].upper()))


_PRIORITY = re.compile(r"\s*\[?(P[012])\]?(?:\s*:\s*|\s+)", re.IGNORECASE)
