"""``ralph plan`` and ``ralph read``: show how a plan or an output is read. Changes nothing."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from ralph_ls.cli.context import current_worktree, plan_outside
from ralph_ls.cli.flags import Json, profile_named
from ralph_ls.cli.output import emit_document, print_error, print_text
from ralph_ls.cli.parameters import argument, flag, option
from ralph_ls.core.agent import output_parser
from ralph_ls.core.agent.ignored_signals import (
    IgnoredSignal,
    find_ignored_signals,
    find_misplaced_signals,
)
from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.profiles import OPTIONAL_SECTIONS, profile_of
from ralph_ls.core.loop.rules.gate import (
    GateInputs,
    check_gate,
    foreign_signals,
    gate_words,
    missing_signal,
)
from ralph_ls.core.loop.rules.retention import pruned_words
from ralph_ls.core.plan.formats.dispatch import (
    check_plan,
    operations_for,
    parse_plan,
    waiting_tasks,
)
from ralph_ls.core.plan.formats.github.format import MIRROR, QUEUE
from ralph_ls.core.plan.formats.gsd.operations import open_but_executed
from ralph_ls.core.plan.formats.plan_format import PlanStorage
from ralph_ls.core.plan.formats.registry import format_of, format_of_file, format_of_text
from ralph_ls.core.plan.formats.stories.story_file import ParsedStories
from ralph_ls.core.plan.formats.stories.tasks import choose_story, waits_for
from ralph_ls.core.plan.lint.checks import plan_problems
from ralph_ls.core.plan.lint.remarks import display_title, group_problems
from ralph_ls.core.plan.model import ParsedPlan, PlanKind, Task
from ralph_ls.core.plan.parse.titles import is_explicit_id, is_part_by_number, is_title_id
from ralph_ls.core.plan.parts import finished_wholes
from ralph_ls.core.plan.queries import count_tasks, next_task
from ralph_ls.core.plan.queries import parsed_plan_to_json as plan_to_json
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.suggestions import unknown
from ralph_ls.core.views.document.page import headings_of_tasks
from ralph_ls.core.views.model.words import one_line
from ralph_ls.engine.agent.description import mapping_of
from ralph_ls.engine.agent.selection import adapter_of
from ralph_ls.engine.plan.plan_file import require_utf8
from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.config.agent_catalog import CATALOG, Adapter, Dialect
from ralph_ls.protocol.config.config import Config, GateRule, OptionalTasks, ProfileName
from ralph_ls.protocol.errors import (
    PlanMissing,
    RalphError,
    StateUnusable,
    UsageError,
    WorkspaceMissing,
)
from ralph_ls.protocol.run.values import PlanCountsView
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.protocol.verb_output import PlanTasks, ReadOutput
from ralph_ls.store.files import read_regular, size_in_words
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.detection import executed_tasks
from ralph_ls.store.project.plan_choice import (
    current_tag_of,
    plan_path,
    split_address,
    why_no_plan,
)
from ralph_ls.store.project.plan_file import PlanLocation, text_of_plan
from ralph_ls.store.project.plan_folder import read_plan_file
from ralph_ls.store.run.pruning import read_pruned

STATE_MARKS = {
    TaskState.TODO: "○",
    TaskState.IN_PROGRESS: "◐",
    TaskState.DONE: "✓",
    TaskState.BLOCKED: "⊘",
    TaskState.SKIPPED: "→",
}

PLAIN = ("command", "demo")
"""Agents that print plain text, where the settings do not say otherwise."""

LARGEST_OUTPUT = 256 << 20
"""Bytes of an agent's output that are read at once."""

SHOWN_OVERLOOKED = 20
"""Lines of one kind; a log may hold many words."""


def show_plan(
    file: Annotated[
        str | None,
        argument(
            "PLAN",
            "The plan: a file, or the name of a feature or change.",
            default="the plan of this repository",
        ),
    ] = None,
    plan: Annotated[str | None, option("PLAN", "The same as PLAN.", default="none")] = None,
    all_plans: Annotated[
        bool, flag("--all", text="List all plans here, with the progress of each.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the tasks of a plan, and its problems."""
    if all_plans:
        from ralph_ls.cli.show.plan_list import list_plans

        list_plans(as_json=as_json)
        return
    config = _plan_settings()
    named = file or plan
    if named is None:
        place = _plan_here()
        text = _plan_text(place)
    elif (queue := _queue(named)) is not None:
        place, text = queue
    else:
        place = _named_plan(named, config)
        text = _plan_text(place)
    parsed = parse_plan(
        text,
        place.kind,
        optional_sections=config.optional_sections,
        skip_review=config.skip_review,
        tag=place.tag,
    )
    parsed = _with_checks(parsed, text, place, config)
    if as_json:
        emit_document(PlanTasks.model_validate(plan_to_json(parsed)))
    else:
        broken = "" if parsed.plan.tasks else _why_broken(text, place.kind)
        summary = _summary(parsed, text, place.kind, config)
        print_text(f"{_shown(place)} is not read: {broken}" if broken else summary)
        groups: Mapping[str, tuple[int, str]] = {}
        if format_of_text(place.kind, text).is_markdown:
            groups = headings_of_tasks(text, parsed.plan.tasks)
        _show_plan(parsed, _waiting(parsed, text, place.kind), groups)


def read_output(
    file: Annotated[
        str, argument("FILE", "Output of an agent.", default="-, standard input")
    ] = "-",
    agent: Annotated[
        str | None, option("AGENT", "The agent that printed it.", default="plain text")
    ] = None,
    profile: Annotated[
        str | None,
        option("PROFILE", "The profile whose signals count.", default="from the settings"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what the loop reads in an agent's output.

    Shows the status block, promises, errors and completion phrases, and the signals that did not
    count.
    """
    config, is_given = _config_for(profile)
    name = agent or "command"
    dialect, mapping = _dialect_of(name, config), mapping_of(config, name)
    preferred = profile_of(config.profile).own_block
    complete_word = config.promise.complete
    stream = _input_of(file)
    final = output_parser.decode_output(stream, dialect=dialect, mapping=mapping)
    found = output_parser.parse_result(final, preferred=preferred, complete_word=complete_word)
    overlooked = find_ignored_signals(
        found,
        preferred=preferred,
        complete_word=complete_word,
        elsewhere=find_misplaced_signals(stream, dialect, mapping),
    )
    is_other = dialect is Dialect.TEXT and _RECORDS.match(stream) is not None
    hint = f"{_LOOKS_LIKE_RECORDS}{', '.join(_agents_of(config))}" if is_other else None
    if as_json:
        entries = [dataclasses.asdict(entry) for entry in overlooked]
        shown = {**output_parser.to_json(found), "overlooked": entries, "hint": hint}
        emit_document(ReadOutput.model_validate(shown))
        return
    _show_reading(found, dialect)
    if is_given:
        _show_gate(found, config)
    _show_overlooked(overlooked)
    if hint is not None:
        print_text(f"\n{hint}")


_RECORDS = re.compile(rb"\s*(?:\[\s*)?\{\s*\"[\w.-]+\": *[\[{\"\d]")
_LOOKS_LIKE_RECORDS = "This looks like JSON lines of an agent; name it with --agent: "


def _agents_of(config: Config) -> list[str]:
    """The agents that print records, and those of the settings."""
    return [*CATALOG, *sorted(set(config.agents) - CATALOG.keys())]


def _config_for(profile: str | None) -> tuple[Config, bool]:
    """The settings here with that profile, and whether a flag or a file chose any.

    An output can be read anywhere, also where the settings are broken.
    """
    if profile is not None:
        profile_named(profile)
    root = _root()
    overrides = {} if profile is None else {"profile": profile}
    try:
        settings = load_settings(root, os.environ, overrides)
    except RalphError as error:
        print_error(f"the settings are ignored: {error.message}")
        name = ProfileName(profile) if profile is not None else Config().profile
        return Config(profile=name), profile is not None
    return settings.config, bool(settings.from_file) or profile is not None


def _dialect_of(agent: str, config: Config) -> Dialect:
    """How an agent writes: as its table says, else as the program of its description does."""
    table = config.agents.get(agent)
    if table is not None and table.dialect is not None:
        return table.dialect
    adapter = adapter_of(agent, config)
    if adapter is None and agent not in PLAIN:
        raise UsageError(unknown("agent", agent, [*PLAIN, *CATALOG, *config.agents]))
    if adapter is Adapter.ACP:
        return Dialect.ACP
    known = None if adapter is None else CATALOG.get(adapter)
    return Dialect.TEXT if known is None else known.dialect


def _root() -> Path:
    """The work tree, else the folder here: a plan can be read anywhere."""
    try:
        return current_worktree().worktree.root
    except RalphError:
        return Path.cwd()


def _plan_here() -> PlanLocation:
    """The plan that ``ralph run`` would take; outside a work tree, the one of the folder here."""
    try:
        worktree = current_worktree()
    except WorkspaceMissing as error:
        return plan_outside(Path.cwd(), error)
    return worktree.require_plan("ralph plan")


def _shown(place: PlanLocation) -> str:
    path = _root() / place.path
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else place.path


def _plan_text(place: PlanLocation) -> str:
    is_named = Path(place.path).is_absolute()
    root = Path("/") if is_named else _root()
    path = root / place.path
    is_one = format_of(place.kind).storage is PlanStorage.FOLDER
    if is_named and path.is_dir() and not is_one:
        raise PlanMissing(why_no_plan(_root(), os.path.relpath(path, _root())))
    if path.is_dir() or not (is_named or path.is_file()):
        return text_of_plan(root, place)
    shown = _shown(place)
    data = read_plan_file(path)
    if data is None:
        raise PlanMissing(why_no_plan(_root(), shown))
    require_utf8(data, shown)
    return data.decode("utf-8")


def _named_plan(named: str, config: Config) -> PlanLocation:
    """A plan that the user names by its file, or by its feature or change.

    Its place in the repository says what it is written in, then its ending.
    """
    kind, root = profile_of(config.profile).plan_kind, _root()
    path, tag = Path(named).absolute(), ""
    if path.is_dir() or not path.exists():
        # From a folder inside, a path that the shell completed.
        inside = path.is_dir() and path.is_relative_to(root)
        wanted = path.relative_to(root).as_posix() if inside else named
        address = plan_path(root, wanted)
        other, tag = split_address(address)
        path = path if address == wanted and not tag else root / other
    place = (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()
    tag = tag or current_tag_of(root, place)
    return PlanLocation(path=str(path), kind=format_of_file(place, kind).name, tag=tag)


def _queue(named: str) -> tuple[PlanLocation, str] | None:
    """The issues of a queue as GitHub has them now; None where another plan is named.

    Where GitHub cannot be asked, the queue itself is shown as it was read last.
    """
    from ralph_ls.engine.plan.selection import locate_plan

    try:
        root = current_worktree().worktree.root
    except RalphError:
        return None
    place = PlanLocation(path=MIRROR, kind=PlanKind.GITHUB)
    is_queue = named.partition(":")[0] == QUEUE and plan_path(root, named) in {named, MIRROR}
    if not is_queue:
        return None
    settings = load_settings(root, os.environ, {"paths.plan": named})
    try:
        return place, locate_plan(root, settings, os.environ).text
    except PlanMissing as error:
        if named != QUEUE or not (root / MIRROR).is_file():
            raise
        print_error(f"{error.message}; this is what was read last")
        return place, _plan_text(place)


def _plan_settings() -> Config:
    """The settings here, where they can be read; outside a work tree those of the folder."""
    try:
        return load_settings(_root(), os.environ, {}).config
    except RalphError:
        return Config(optional_sections=OPTIONAL_SECTIONS)


def _with_checks(parsed: ParsedPlan, text: str, place: PlanLocation, config: Config) -> ParsedPlan:
    """The plan with what its checks found beside its other problems, by line."""
    found = plan_problems(check_plan(parsed, text, place.kind, marker=config.gate.marker))
    executed = executed_tasks(_root() / place.path, format_of(place.kind))
    left = open_but_executed(parsed.plan, executed) if executed else None
    more = () if left is None else (left,)
    problems = sorted((*parsed.problems, *found, *more), key=lambda problem: problem.line)
    return dataclasses.replace(parsed, problems=tuple(problems))


def _why_broken(text: str, kind: PlanKind) -> str:
    """Why nothing of the text is read; empty where its format finds it in order."""
    structured = operations_for(kind, text).text
    return "" if structured is None else structured.why_broken(text)


SHOWN_TITLE = 60
"""Characters of the next task's title in the summary."""


def _summary(parsed: ParsedPlan, text: str, kind: PlanKind, config: Config) -> str:
    """The progress of a plan and its next task: ``2 of 5 tasks done. Next: Log in``.

    Where the order of the tasks is known to others only, no task is named.
    """
    counts = count_tasks(parsed.plan)
    if not counts.total:
        return "The plan has no tasks."
    n_skipped = sum(task.state is TaskState.SKIPPED for task in parsed.plan.tasks)
    # As in the list of all plans, what was decided on is no work.
    total = counts.total - n_skipped
    are_all = counts.done == total
    done = "All" if are_all and total > 1 else f"{counts.done} of"
    extra = [
        (counts.blocked_required, "blocked"),
        (counts.open_optional, "optional and open"),
        (n_skipped, "skipped"),
    ]
    more = "".join(f", {number} {word}" for number, word in extra if number)
    summary = f"{done} {count_of(total, 'task')} done{more}."
    if are_all or kind is PlanKind.BEADS:
        return summary
    chosen = _next_task(parsed, text, kind, config)
    if chosen is None:
        is_left = counts.open_required or counts.blocked_required
        return f"{summary} No {'task is ready' if is_left else 'required task is left'}."
    name = f"{chosen.id} {chosen.title}" if is_explicit_id(chosen.id) else chosen.title
    return f"{summary} Next: {one_line(name, limit=SHOWN_TITLE)}"


def _next_task(parsed: ParsedPlan, text: str, kind: PlanKind, config: Config) -> Task | None:
    """The task of the next iteration; among stories their cycle of reviews decides."""
    if isinstance(parsed.source, ParsedStories):
        story = choose_story(parsed.source.stories, skip_review=config.skip_review).story
        return None if story is None else parsed.plan.find(story.id)
    takes_optional = config.optional is OptionalTasks.DO
    waiting = _waiting(parsed, text, kind)
    return next_task(parsed.plan, waits_for=waiting, takes_optional=takes_optional)


def _waiting(parsed: ParsedPlan, text: str, kind: PlanKind) -> dict[str, tuple[str, ...]]:
    """The ids of the tasks that each unfinished task waits for."""
    if isinstance(parsed.source, ParsedStories):
        stories = parsed.source.stories
        needs, tasks = waits_for(stories), stories.by_id()
        return {one: names for one, names in needs.items() if not tasks[one].passes}
    found = waiting_tasks(parsed, text, kind) or {}
    return {task_id: tuple(one.id for one in tasks) for task_id, tasks in found.items()}


SHOWN_NEEDS = 3
"""Tasks that are named of those for which one waits."""


def _needs_in_words(
    task: Task, waiting: Mapping[str, tuple[str, ...]], tasks: Mapping[str, Task]
) -> str:
    """The tasks that one waits for, without its parts and what the task above waits for too."""
    above = {name for name in waiting.get(task.parent or "", ()) if tasks[name].parent is None}
    names = [
        name
        for name in waiting.get(task.id, ())
        if name not in above
        and tasks[name].parent != task.id
        and not is_part_by_number(task.title, tasks[name].title)
    ]
    shown = some_of([_name_of(tasks[name]) for name in names], SHOWN_NEEDS)
    return f"  (waits for: {shown})" if names else ""


def _name_of(task: Task) -> str:
    """The id of a task, or its title where the id is made of that."""
    return display_title(task.title) if is_title_id(task.id, task.title) else task.id


def _show_plan(
    parsed: ParsedPlan,
    waiting: Mapping[str, tuple[str, ...]],
    groups: Mapping[str, tuple[int, str]],
) -> None:
    group, is_optional, tasks = (-1, ""), False, parsed.plan.by_id()
    done = {task.id for task in finished_wholes(parsed.plan)}
    for task in parsed.plan.tasks:
        own = groups.get(task.id, (-1, task.section))
        # A subtask is shown below its task, whatever section the format names for it.
        if task.depth == 0 and own != group:
            group, is_optional = own, task.optional
            print_text(f"{own[1] or 'No section'}{'  (optional)' if is_optional else ''}")
        indent = "  " * (task.depth + 1)
        optional = "  (optional)" if task.optional and not is_optional else ""
        remark = f"  (blocked by: {task.blocked_by})" if task.blocked_by else ""
        remark = "  (all parts are done)" if task.id in done else remark
        shown = f"{STATE_MARKS[task.state]} {task.title}  [{task.id}]"
        needs = _needs_in_words(task, waiting, tasks)
        print_text(f"{indent}{shown}{optional}{remark}{needs}")
    for _, problem in group_problems(parsed.problems):
        print_text(f"line {problem.line}: {problem.code}: {problem.message}")


def _input_of(file: str) -> bytes:
    if file == "-":
        data = sys.stdin.buffer.read(LARGEST_OUTPUT + 1)
        if len(data) > LARGEST_OUTPUT:
            size = size_in_words(LARGEST_OUTPUT)
            raise UsageError(f"standard input is larger than {size}; pass only its end")
        return data
    try:
        found = read_regular(Path(file), LARGEST_OUTPUT)
    except StateUnusable as error:
        raise UsageError(f"{error.message}; to read a pipe: ralph read -") from error
    if found is None:
        raise UsageError(_pruned(Path(file)) or f"there is no file {file}")
    return found


def _pruned(file: Path) -> str | None:
    """Why there is no such file, where it was an earlier run's output that was removed."""
    folder = file.absolute().parent
    pruned = read_pruned(RunFiles(folder=folder))
    if pruned is None:
        return None
    run = folder.name
    return f"{pruned_words(run, pruned)}; its figures are in: ralph show {run}"


def _show_reading(found: output_parser.ParsedOutput, dialect: Dialect) -> None:
    if found.report is None:
        print_text("Report: none")
    else:
        print_text(f"Report: {found.report.kind.value}")
        for key, value in found.report.fields.items():
            print_text(f"  {key}: {_indented(value)}")
        for problem in found.report.problems:
            print_text(f"  ! {problem.code}: {problem.message}")
    for promise in found.promises:
        print_text(f"Promise: {promise.kind.value} {_indented(promise.text)}".rstrip())
    if found.question:
        print_text(f"Question without a signal: {found.question}")
    for error in found.errors:
        print_text(f"Error: {error}")
    print_text(f"Completion phrases: {', '.join(found.completion) or 'none'}")
    print_text(f"Clarification phrases: {', '.join(found.clarification) or 'none'}")
    print_text(f"Confidence: {found.confidence}")
    _show_stream_facts(found, dialect)


def _indented(value: str) -> str:
    """A value over several lines stays apart from what comes after it."""
    return value.replace("\n", "\n    ")


def _show_stream_facts(found: output_parser.ParsedOutput, dialect: Dialect) -> None:
    """Facts that only an agent which prints records reports."""
    if found.failed:
        print_text(f"Failed: {found.why or 'reported by the agent'}")
    if found.limit is not None:
        print_text(f"Usage limit: {_until(found.limit)}")
    if found.denied_tools:
        print_text(f"Denied tools: {', '.join(dict.fromkeys(found.denied_tools))}")
    if found.usage is not None:
        fields = found.usage.model_dump(by_alias=True, exclude_none=True)
        print_text(f"Usage: {', '.join(f'{name} {value}' for name, value in fields.items())}")
    unknown = _unknown(found, dialect)
    if unknown:
        what = "plain text" if dialect is Dialect.TEXT else "this output"
        print_text(f"Not in {what}: {', '.join(unknown)}")


def _unknown(found: output_parser.ParsedOutput, dialect: Dialect) -> list[str]:
    """Names of the facts that this output does not report."""
    usage = found.usage
    facts = {
        "failure": dialect is Dialect.TEXT,
        "tokens": usage is None or usage.input_tokens is None,
        "cost": usage is None or usage.cost_usd is None,
        "session": found.session_id is None,
        "model": found.model is None,
    }
    return [name for name, is_unknown in facts.items() if is_unknown]


def _until(limit: AccountLimit) -> str:
    if limit.resets_at is not None:
        return f"until {to_wire_time(limit.resets_at)}"
    if limit.resets_in is not None:
        return f"for {limit.resets_in:g} s from then"
    if limit.resets_locally is not None:
        where = "" if limit.resets_locally.zone else " where the agent ran"
        return f"until {limit.resets_locally}{where}"
    return "the agent does not report until when"


def _show_gate(found: output_parser.ParsedOutput, config: Config) -> None:
    """What the gate would make of this output, were it an iteration with nothing left to do."""
    given = GateInputs(
        report=found.report,
        promises=found.promises,
        completion_words=found.completion,
        counts=PlanCountsView(),
        iterations=max(1, config.min_iterations),
        min_iterations=config.min_iterations,
        config=config.gate,
        complete_word=config.promise.complete,
    )
    result = check_gate(given)
    print_text(
        f"Gate of {config.profile.value}: needs {gate_words(config.gate, given.complete_word)}"
    )
    if result.satisfied:
        print_text("  ✓ this output has the signal; it counts if the plan is done")
    elif config.gate.rule in {GateRule.MARKER, GateRule.QUEUE}:
        print_text("  · only the plan decides; no output of an agent does")
    else:
        print_text(f"  ✗ {missing_signal(given, result.indicators)}")
    for signal in foreign_signals(given):
        print_text(f"  ! {signal}, which this gate ignores")


def _show_overlooked(overlooked: Sequence[IgnoredSignal]) -> None:
    if overlooked:
        print_text("\nNot counted:")
    for what, group in itertools.groupby(overlooked, key=lambda entry: entry.what):
        entries = list(group)
        for entry in entries[:SHOWN_OVERLOOKED]:
            place = "" if entry.line is None else f", line {entry.line}"
            print_text(f"  {what}{place}: {entry.text}")
            print_text(f"    {entry.why}")
        if len(entries) > SHOWN_OVERLOOKED:
            print_text(f"  … and {len(entries) - SHOWN_OVERLOOKED} more of this kind")
