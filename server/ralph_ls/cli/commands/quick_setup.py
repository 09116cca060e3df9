"""``ralph init`` in two questions: what is here, which agent, which first task, and what is next.

Everything else has a default. Nothing is asked that the repository or a flag already answers.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from ralph_ls.cli.commands.setup_prompts import SetupFlags
from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.output import print_text
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.formats.registry import format_of_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plan.specs import FOLDER
from ralph_ls.core.plurals import count_of
from ralph_ls.core.setup.documents import SPEC_NAME
from ralph_ls.core.setup.project_kind import ProjectKind
from ralph_ls.core.views.model.control_chars import escape_nonprintable
from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.lsp.setup import AgentChoice
from ralph_ls.protocol.plan import STDIN
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.project.config_file import LoadedSettings, load_settings
from ralph_ls.store.project.detection import detect_profiles, find_specs, why_of_tool
from ralph_ls.store.project.plan_file import PlanLocation, text_of_plan
from ralph_ls.store.setup.documents import read_existing_text
from ralph_ls.store.setup.existing_setup import find_existing_setup
from ralph_ls.store.setup.setup import SetupPlan, profile_for
from ralph_ls.store.setup.task_templates import read_project

DEMO = "demo"

OTHER_PLANS = ("TODO.md", "PLAN.md", "plan.md", "ROADMAP.md")
"""Lists of tasks that no profile takes by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFindings:
    """What a set-up finds in a repository and on PATH."""

    project: ProjectKind
    agents: tuple[AgentChoice, ...]
    """All that can be named, those that were found first."""
    agent: str | None
    """The one that the settings name."""
    profiles: tuple[ProfileName, ...]
    """Those that fit, where no setting names one."""
    plan: str = ""
    """The path of the plan, or what is there instead; empty where there is none."""
    n_open: int | None = None
    """The number of its open tasks; None where they are not in a file."""
    hint: str = ""

    @property
    def installed(self) -> tuple[str, ...]:
        """The agents that are here and work, without the scripted one."""
        return tuple(one.name for one in self.agents if one.found and one.name != DEMO)

    @property
    def needs_task(self) -> bool:
        """Whether there is nothing yet that an agent could work on."""
        return self.n_open == 0 or not self.plan


def find_setup(place: CommandWorktree, given: SetupFlags) -> SetupFindings:
    """What is here; raises ``ConfigError`` for settings that cannot be read."""
    from ralph_ls.engine.run.proposals import find_agents

    root = place.worktree.root
    settings = load_settings(root, os.environ, {})
    profile = profile_for(root, given.profile).name
    plan, n_open = _plan_of(root, profile, settings.config)
    if not plan and profile is ProfileName.FIXPLAN and (why := why_of_tool(root)):
        plan = f"none yet; {why}"
    return SetupFindings(
        project=read_project(root),
        agents=find_agents(place.worktree, place.state, settings, os.environ),
        agent=settings.config.agent if settings.agent_by is not None else None,
        profiles=()
        if settings.names_profile
        else tuple(one.profile for one in detect_profiles(root)),
        plan=plan,
        n_open=n_open,
        hint=_hint(root) if not plan and not given.names_work else "",
    )


def _plan_of(root: Path, profile: ProfileName, config: Config) -> tuple[str, int | None]:
    kind = profile_of(profile).plan_kind
    if kind is PlanKind.BEADS:
        return (".beads", None) if (root / ".beads").is_dir() else ("", None)
    if kind is PlanKind.REQUEST:
        return config.issue.github or config.issue.file or config.issue.text or "", None
    names = (config.paths.plan,) if config.paths.plan else profile_of(profile).plan_files
    found = next((name for name in names if (root / name).exists()), None)
    if found is not None:
        known = format_of_plan(found, kind).name
        text = text_of_plan(root, PlanLocation(path=found, kind=known))
        return found, _n_open(text, known, config.plan.tag or "")
    is_written_later = profile is ProfileName.SPEC and find_specs(root)
    return (f"{FOLDER}/", None) if is_written_later else ("", None)


def _n_open(text: str, kind: PlanKind, tag: str = "") -> int:
    """The number of open tasks in the text of a plan."""
    tasks = parse_plan(text, kind, tag=tag).plan.tasks
    return sum(task.state not in {TaskState.DONE, TaskState.SKIPPED} for task in tasks)


def _hint(root: Path) -> str:
    """The one thing to know about what is here."""
    try:
        other = find_existing_setup(root)
        texts = {name: read_existing_text(root, name) or "" for name in OTHER_PLANS}
    except RalphError:
        return ""
    if other is not None and other.kept:
        return "another tool left its settings here; to use them: ralph init --from-existing"
    for name, text in texts.items():
        if n_open := _n_open(text, PlanKind.MARKDOWN):
            tasks = count_of(n_open, "open task")
            return f"{name} has {tasks}; to work on it: ralph init --plan {name}"
    return ""


def show_findings(found: SetupFindings, given: SetupFlags) -> None:
    """What was found, in three lines."""
    languages = ", ".join(found.project.languages) or "no known language"
    checks = ", ".join(check.command for check in found.project.checks)
    print_text(f"Project:  {languages}{f'; checks: {checks}' if checks else ''}")
    agent = given.agent or given.agent_command or found.agent
    print_text(f"Agents:   {', '.join(found.installed) or 'none on PATH'}")
    if agent is not None and (agent not in found.installed or len(found.installed) > 1):
        is_missing = agent in {one.name for one in found.agents if not one.found}
        note = ", not installed" if is_missing else ""
        print_text(f"Agent:    {escape_nonprintable(agent)}{note}")
    print_text(f"Plan:     {_plan_words(found)}")


def _plan_words(found: SetupFindings) -> str:
    plan = escape_nonprintable(found.plan)
    if not plan:
        return "none yet"
    if found.plan == f"{FOLDER}/":
        return "none yet; the first iteration writes it from specs/"
    return plan if found.n_open is None else f"{plan}, {count_of(found.n_open, 'open task')}"


def ask_missing(given: SetupFlags, found: SetupFindings) -> SetupFlags:
    """The flags with an agent and a first task; asks only for what is not clear."""
    if len(found.profiles) > 1 and given.profile is None:
        given = replace(given, profile=_ask_profile(found.profiles))
    if given.agent is None and given.agent_command is None and found.agent is None:
        given = replace(given, agent=_ask_agent(found))
    is_bound = found.plan and not found.needs_task
    if given.names_work or is_bound:
        return given
    print_text("")
    words = "What should the agent do first? (Enter to write the plan yourself)"
    text = str(typer.prompt(words, default="", show_default=False, prompt_suffix="\n> ")).strip()
    return replace(given, task=text or None)


def _ask_profile(names: Sequence[ProfileName]) -> ProfileName:
    print_text("")
    print_text("Several plans are here:")
    return names[_ask_number("Profile", [name.value for name in names], ["" for _ in names])]


def _ask_agent(found: SetupFindings) -> str | None:
    """The agent to use: the only one that is installed, else what the user chooses."""
    if len(found.installed) == 1:
        return found.installed[0]
    offered = [one for one in found.agents if one.found or not found.installed]
    offered.sort(key=lambda one: one.name == DEMO)
    print_text("")
    some, none = "Which agent?", "No agent is installed. Which one will you use?"
    print_text(some if found.installed else none)
    details = ["" if one.found and one.name != DEMO else one.detail for one in offered]
    at = _ask_number("Agent", [one.name for one in offered], details)
    return offered[at].name


def _ask_number(question: str, names: Sequence[str], details: Sequence[str]) -> int:
    """The place of the choice that the user makes, by its number or its name."""
    width = max(len(name) for name in names)
    for number, (name, detail) in enumerate(zip(names, details, strict=True), 1):
        print_text(f"{number:3}  {name:{width}}  {detail}".rstrip())

    def read(typed: str) -> int:
        word = typed.strip()
        if word in names:
            return names.index(word)
        if word.isdecimal() and 1 <= int(word) <= len(names):
            return int(word) - 1
        raise typer.BadParameter(f"{word!r}: type a number from 1 to {len(names)}, or a name")

    return int(typer.prompt(question, default="1", value_proc=read))


def require_limits_can_be_kept(planned: SetupPlan, given: SetupFlags) -> None:
    """Refuse an agent that does not exist, and a cost limit that nothing can measure.

    Raises ``ConfigError`` and ``UsageError``, as the start of a run would.
    """
    from ralph_ls.engine.agent.run_agents import describe_agents, require_metered

    overrides = {"max_cost_usd": given.max_cost} if given.max_cost is not None else {}
    settings = LoadedSettings(config=planned.config, from_file={}, overrides=overrides)
    agents = describe_agents(planned.config)
    if given.max_cost is not None:
        require_metered(settings, agents)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """What to type after a set-up."""

    words: str
    command: str


def next_step(place: CommandWorktree, planned: SetupPlan, found: SetupFindings) -> NextStep:
    """The command that starts the loop, with whatever has to come before it."""
    root, config = place.worktree.root, planned.config
    words: list[str] = []
    commands: list[str] = []
    agent, flags = _agent_of(place, found)
    missing = next((one for one in found.agents if one.name == agent and not one.found), None)
    if missing is not None:
        install = missing.detail.removeprefix("install it with ")
        if install != missing.detail:
            words.append(f"install {agent}")
            commands.append(install)
    if _has_unapproved(place):
        words.append("approve what this repository runs")
        commands.append("ralph allow")
    for what, command in _work(root, planned, config):
        words.append(what)
        commands.append(command)
    commands.append(shlex.join(["ralph", "run", *flags]))
    *first, last = [*words, "start the loop"]
    all_words = f"{', '.join(first)} and {last}" if first else last
    return NextStep(words=all_words, command=" && ".join(commands))


def _agent_of(place: CommandWorktree, found: SetupFindings) -> tuple[str, list[str]]:
    """The agent of a run here, and the flags that name it where nothing else does."""
    from ralph_ls.engine.agent.selection import with_agent

    root = place.worktree.root
    settings = load_settings(root, os.environ, {})
    try:
        return with_agent(settings, os.environ, root).config.agent, []
    except UsageError:
        return found.installed[0], ["--agent", found.installed[0]]


def _has_unapproved(place: CommandWorktree) -> bool:
    from ralph_ls.engine.run.preparation import claims_here
    from ralph_ls.store.project import trust

    settings = load_settings(place.worktree.root, os.environ, {})
    claims = claims_here(place.worktree, place.state, settings)
    return bool(trust.unapproved_claims(place.state, claims))


def _work(root: Path, planned: SetupPlan, config: Config) -> Iterator[tuple[str, str]]:
    """What the user has to write before an agent can work; nothing where there is a task."""
    kind = profile_of(config.profile).plan_kind
    if kind is PlanKind.BEADS:
        if not (root / ".beads").is_dir():
            yield "create an issue", "bd init && bd create 'First task'"
    elif kind is PlanKind.REQUEST:
        file = config.issue.file or ""
        is_given = config.issue.github or config.issue.text or file == STDIN
        if not (is_given or (root / file).is_file()):
            yield "write the request", _edit(file)
    else:
        yield from _tasks_to_write(root, planned, config, kind)


def _tasks_to_write(
    root: Path, planned: SetupPlan, config: Config, kind: PlanKind
) -> Iterator[tuple[str, str]]:
    plan, n_open = _plan_of(root, config.profile, config)
    written = next((file for file in planned.files if file.path == planned.plan_path), None)
    if written is not None:
        known = format_of_plan(written.path, kind).name
        plan, n_open = written.path, _n_open(written.after.decode(errors="replace"), known)
    is_untouched = plan == f"{FOLDER}/" and find_specs(root) == (SPEC_NAME,)
    if is_untouched or (not plan and config.profile is ProfileName.SPEC):
        yield "write what should be built", _edit(f"{FOLDER}/{SPEC_NAME}")
    elif n_open == 0:
        yield "write your tasks", _edit(planned.plan_path)


def _edit(path: str) -> str:
    return f"${{EDITOR:-vi}} {shlex.quote(path)}"
