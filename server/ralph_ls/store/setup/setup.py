"""Set-up: computes every file with its text first, then writes all of them or none.

Existing files are changed in place and as little as possible: a plan gets items, a config file
values, ``.gitignore`` lines. Nothing is written before ``write_setup``, nor while an engine owns
the work tree. Starts no process; the questions are asked by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.profiles import BEADS, FIXPLAN, ISSUE, Profile, profile_of
from ralph_ls.core.setup.documents import REQUEST_FILE, issue_key
from ralph_ls.core.setup.draft import check_draft, errors_of
from ralph_ls.core.setup.settings import duration_text, with_settings
from ralph_ls.protocol.config.agent import PromptBy
from ralph_ls.protocol.config.agent_catalog import ACP_VARIANTS, CATALOG
from ralph_ls.protocol.config.config import CONFIG_FILE, Config, LogForm, PathsConfig, ProfileName
from ralph_ls.protocol.config.tables import to_seconds
from ralph_ls.protocol.errors import FromInside, PlanMissing, StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import SetupFileAction, SetupParams, SetupProblem
from ralph_ls.store.files import resolve_inside
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_edit import SCHEMA_LINE, SCHEMA_PATH, refresh_schema
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.plan_choice import (
    all_plans,
    find_named,
    split_address,
    why_no_plan,
)
from ralph_ls.store.project.plan_choice import plan_path as address_of
from ralph_ls.store.run.ancestry import require_own_trust
from ralph_ls.store.run.lock import EngineLock
from ralph_ls.store.setup.documents import (
    FileToWrite,
    file_to_write,
    read_existing_bytes,
    read_existing_text,
    setup_documents,
    write_files,
)
from ralph_ls.store.setup.task_templates import load_templates, template_files

HEAD = (
    f"{SCHEMA_LINE}\n"
    "# Settings of the loop in this repository; every key can be overridden by a flag or RALPH_*."
)

STARTER_CONFIG = """\
# max_iterations = 20
# max_duration = "8h"

# Any program can be the agent; what a repository sets here runs only after: ralph allow
# agent = "command"
# [agents.command]
# argv = ["./agent.sh"]
# prompt = "stdin"            # stdin | argument | file
"""

PROFILES_WITHOUT_ITEMS = frozenset({ProfileName.BEADS, ProfileName.ISSUE})
"""Profiles whose plan a set-up does not write, so that it needs no items."""

KNOWN_AGENTS = frozenset({*CATALOG, *ACP_VARIANTS, "demo"})
"""Agents that need no table in the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPlan:
    """Everything that a set-up would write, in order."""

    files: tuple[FileToWrite, ...]
    folders: tuple[str, ...]
    """Folders to create, relative to the root."""
    notes: tuple[str, ...]
    config: Config
    """Effective settings afterwards."""
    plan_path: str
    """Path of the plan relative to the root; empty where it is not a file."""

    @property
    def written(self) -> list[str]:
        """Paths of the new and changed files."""
        return [file.path for file in self.files if file.action is not SetupFileAction.KEEP]


def setup_problems(root: Path, order: SetupParams) -> tuple[SetupProblem, ...]:
    """Problems of an order (docs/rules.md#set-up); an existing plan needs no items.

    Items need no description: one sentence is enough for a first task.
    """
    profile = profile_for(root, order.profile).name
    is_there = order.existing_plan is not None or order.issue is not None
    says_more = is_there or profile is ProfileName.BEADS or bool(order.items)
    needs_items = not is_there and profile not in PROFILES_WITHOUT_ITEMS
    return check_draft(
        description=order.description if order.description.strip() or not says_more else None,
        completion_phrase=order.completion_phrase,
        timeout=order.timeout,
        items=order.items if order.items or needs_items else None,
    )


def plan_setup(
    root: Path, order: SetupParams, *, environment: Mapping[str, str], today: date
) -> SetupPlan:
    """Every file that setting up would write or keep; writes nothing.

    ``environment`` has the PATH for programs. Raises ``UsageError`` for an order with errors,
    ``ConfigError`` for settings that cannot be read, changed or run with, ``PlanMissing`` for a
    named plan that does not exist, and ``RalphError`` for an item that the plan cannot take.
    """
    errors = errors_of(setup_problems(root, order))
    if errors:
        raise UsageError(" ".join(problem.message for problem in errors).rstrip("."))
    if order.agent is not None and order.agent_command is not None:
        raise UsageError("give an agent or a command, not both")
    return _plan(root, order, environment=environment, today=today)


def plan_first_files(
    root: Path, order: SetupParams, *, environment: Mapping[str, str], today: date
) -> SetupPlan:
    """The files of a profile without any task; existing settings are kept unless others are given.

    Raises like ``plan_setup``.
    """
    planned = _plan(root, order, environment=environment, today=today, starter=STARTER_CONFIG)
    config = planned.files[-1]
    if config.before is None or chooses_settings(order):
        return planned
    kept = replace(config, after=config.before)
    settings = load_settings(root, {}, {})
    notes = planned.notes
    there, wanted = settings.config.profile.value, planned.config.profile.value
    if settings.names_profile and there != wanted:
        stays = f'{CONFIG_FILE} has profile = "{there}" and was not changed; for this one write '
        notes += (f'{stays}profile = "{wanted}" there',)
    return replace(planned, files=(*planned.files[:-1], kept), notes=notes)


def chooses_settings(order: SetupParams) -> bool:
    """Whether an order has a value for the settings, besides the profile."""
    return bool(order.agent or order.agent_command or order.issue or _limits(order))


def write_setup(
    worktree: Worktree, state: StateFolder, planned: SetupPlan, order: SetupParams
) -> tuple[str, ...]:
    """Write the new and changed files, and approve what the user gave here.

    Returns notes for the user. Raises ``WorkspaceBusy`` while an engine owns the work tree, and
    ``StateUnusable`` where a file cannot be written or was changed meanwhile; those written before
    it are restored.
    """
    root = worktree.root
    before = _allowed(worktree, state)
    with EngineLock(worktree.git_dir):
        for folder in planned.folders:
            _make_folder(resolve_inside(root, folder))
        write_files(root, planned.files)
        refresh_schema(root)
    return _allow_given(worktree, state, before, planned, order)


def with_ignored_files(root: Path, config: Config) -> bytes | None:
    """A ``.gitignore`` with the loop's files added; None where it has them all.

    See docs/rules.md#files.
    """
    paths = config.paths
    logs = [f"/{folder}/" for folder in _folders(config)]
    wanted = [*logs, f"/{paths.decide}", f"/{paths.blocked}", f"/{SCHEMA_PATH}"]
    text = read_existing_text(root, ".gitignore") or ""
    missing = [line for line in wanted if line not in text.splitlines()]
    if not missing:
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    text += newline.join(missing) + newline
    return text.encode("utf-8", errors="surrogateescape")


def existing_plan(root: Path) -> str | None:
    """The existing plan of the effective profile, relative to the root."""
    config = load_settings(root, {}, {}).config
    return _find_plan(root, profile_of(config.profile), config.paths)


def profile_for(root: Path, named: ProfileName | None) -> Profile:
    """The profile to set up: the named one, else the one that fits the repository."""
    if named is not None:
        return profile_of(named)
    settings = load_settings(root, {}, {})
    is_clear = settings.names_profile or len(settings.detected) == 1
    return profile_of(settings.config.profile if is_clear else FIXPLAN.name)


def _plan(
    root: Path,
    order: SetupParams,
    *,
    environment: Mapping[str, str],
    today: date,
    starter: str = "",
) -> SetupPlan:
    profile = profile_for(root, order.profile)
    config_text = read_existing_text(root, CONFIG_FILE)
    values = _values(root, order, profile)
    overrides = {".".join(keys): value for keys, value in values.items()}
    config = load_settings(root, {}, overrides).config
    plan_path = ""
    if profile.plan_files:
        found = _find_plan(root, profile, config.paths)
        plan_path = found or config.paths.plan or profile.plan_files[0]
        if order.existing_plan is not None:
            address = address_of(root, order.existing_plan)
            plan_path = split_address(address)[0]
            if not (root / plan_path).is_file() and find_named(all_plans(root), address) is None:
                raise PlanMissing(why_no_plan(root, order.existing_plan))
            if found != address:
                values[("paths", "plan")] = address
                config = load_settings(root, {}, {**overrides, "paths.plan": address}).config
    documents = setup_documents(
        root, order, profile, plan_path, config.paths, environment=environment, today=today
    )
    files = (
        *documents.files,
        *_of_template(root, order, config.paths.validate_script, environment),
        *_ignoring(root, config),
        file_to_write(root, CONFIG_FILE, _config_text(config_text, values, starter)),
    )
    return SetupPlan(
        files=files,
        folders=_folders(config),
        notes=documents.notes,
        config=config,
        plan_path=plan_path,
    )


def _of_template(
    root: Path, order: SetupParams, script: str, environment: Mapping[str, str]
) -> list[FileToWrite]:
    """What a template for a kind of project adds beside its plan."""
    if order.template is None:
        return []
    template = load_templates(environment).extras.get(order.template)
    return [] if template is None else template_files(root, template, script)


def _values(root: Path, order: SetupParams, profile: Profile) -> dict[tuple[str, ...], Any]:
    """Values for the config file, by key; its other values are kept.

    Values that are the default of the profile are not written, so that the file shows what is
    special here.
    """
    values: dict[tuple[str, ...], Any] = {("profile",): profile.name.value}
    config = load_settings(root, {}, {"profile": profile.name.value}).config
    if order.agent_command is not None:
        table: dict[str, Any] = {"argv": list(order.agent_command)}
        if order.agent_prompt not in {None, PromptBy.STDIN}:
            table["prompt"] = str(order.agent_prompt)
        values |= {("agent",): "command", ("agents", "command"): table}
    elif order.agent is not None:
        values[("agent",)] = order.agent
    elif config.agent not in {*KNOWN_AGENTS, *config.agents}:
        values[("agent",)] = Config().agent
    if profile is ISSUE:
        values |= _request_of(root, order, config)
    elif order.issue is not None:
        raise UsageError(
            f"--issue is for the profile issue, but this is {profile.name.value}; add --profile "
            "issue"
        )
    if profile is BEADS and order.existing_plan is not None:
        raise UsageError("the profile beads has no plan file: its issues are stored in bd")
    values |= _limits(order)
    return {
        keys: value
        for keys, value in values.items()
        if keys in _ALWAYS_WRITTEN or not _holds(config, keys, value)
    }


_ALWAYS_WRITTEN = frozenset({("profile",), ("agent",)})
"""What a run would otherwise choose by what it finds."""


def _limits(order: SetupParams) -> dict[tuple[str, ...], Any]:
    """Limits, branch and completion phrase, where the order has them."""
    given: dict[tuple[str, ...], Any] = {
        ("max_iterations",): order.max_iterations,
        ("timeouts", "iteration"): None if order.timeout is None else duration_text(order.timeout),
        ("max_duration",): None
        if order.max_duration is None
        else duration_text(order.max_duration),
        ("max_cost_usd",): order.max_cost_usd,
        ("work_branch",): order.work_branch,
        ("promise", "complete"): order.completion_phrase,
    }
    return {keys: value for keys, value in given.items() if value is not None}


def _config_text(text: str | None, values: Mapping[tuple[str, ...], Any], starter: str) -> str:
    """The config file with these values; in a new one ``starter`` follows the top-level values."""
    if text is not None:
        return with_settings(text, values)
    top: dict[tuple[str, ...], Any] = {
        keys: value for keys, value in values.items() if len(keys) == 1
    }
    tables = {keys: value for keys, value in values.items() if len(keys) > 1}
    gap = "\n" if starter and tables else ""
    return with_settings(with_settings(f"{HEAD}\n", top) + starter + gap, tables)


def _request_of(root: Path, order: SetupParams, config: Config) -> dict[tuple[str, ...], str]:
    """The path of the request, unless the settings name it already."""
    named = order.issue or order.existing_plan
    if named is None:
        has_source = not order.description.strip() and (config.issue.file or config.issue.github)
        return {} if has_source else {("issue", "file"): REQUEST_FILE}
    key = issue_key(named)
    if key == "file" and named != "-" and not (root / named).is_file():
        raise PlanMissing(
            f"there is no request {root / named}; name an existing file, or an issue such as "
            "owner/name#123"
        )
    other = "file" if key == "github" else "github"
    chosen: dict[tuple[str, ...], str] = {("issue", key): named}
    if getattr(config.issue, other):
        chosen[("issue", other)] = ""
    return chosen


def _holds(config: Config, keys: tuple[str, ...], value: object) -> bool:
    """Whether the settings already have that value."""
    held: Any = config
    for key in keys:
        held = getattr(held, key, None)
    is_time = keys in {("timeouts", "iteration"), ("max_duration",)}
    return bool(held == (to_seconds(value) if is_time else value))


def _find_plan(root: Path, profile: Profile, paths: PathsConfig) -> str | None:
    names = profile.plan_files if paths.plan is None else (paths.plan,)
    return next((name for name in names if (root / name).is_file()), None)


def _folders(config: Config) -> tuple[str, ...]:
    """Folder of the logs; JSON-lines logs are outside of the tree."""
    return () if config.logs.form is LogForm.JSONL else (config.paths.logs,)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateUnusable(
            f"the folder {folder} cannot be created: {error.strerror or error}; fix that, then "
            "try again"
        ) from error


def _ignoring(root: Path, config: Config) -> list[FileToWrite]:
    data = with_ignored_files(root, config)
    before = read_existing_bytes(root, ".gitignore")
    after = before if data is None else data
    return [] if after is None else [FileToWrite(path=".gitignore", before=before, after=after)]


def _allowed(worktree: Worktree, state: StateFolder) -> Sequence[trust.Claim]:
    """The approved claims in their present form."""
    settings = load_settings(worktree.root, {}, {})
    approved = trust.read_record(state).allowed
    claims = trust.claims_of(worktree.root, settings.config, settings.from_file, approved)
    missing = trust.unapproved_claims(state, claims)
    return [claim for claim in claims if claim not in missing]


def _allow_given(
    worktree: Worktree,
    state: StateFolder,
    before: Sequence[trust.Claim],
    planned: SetupPlan,
    order: SetupParams,
) -> tuple[str, ...]:
    """Approve what the user has just given or had written, and nothing else."""
    settings = load_settings(worktree.root, {}, {})
    claims = trust.claims_of(worktree.root, settings.config, settings.from_file)
    written = {file.path for file in planned.files if file.action is SetupFileAction.CREATE}
    given = {one.key: one for one in claims if one.key in written or _is_agent_of(order, one)}
    if given:
        kept = [claim for claim in before if claim.key not in given]
        try:
            require_own_trust(state, "approving what was set up")
        except FromInside as error:
            return (error.message,)
        trust.allow(state, worktree.root, [*kept, *given.values()])
    needed = trust.claims_of_run(claims, planned.config, ())
    missing = trust.unapproved_claims(state, needed)
    if not missing:
        return ()
    names = ", ".join(claim.key for claim in missing)
    return (f"before a run, review what this repository wants to run ({names}): ralph allow",)


def _is_agent_of(order: SetupParams, claim: trust.Claim) -> bool:
    """Whether a claim is the program that the user named as the agent."""
    return bool(order.agent_command) and claim.agent == "command"
