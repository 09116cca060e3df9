"""Plan choice: which of the plans that other tools left in a repository is worked on.

The one that the user's environment, branch or tool names, else the only one with open tasks
(docs/rules.md#plans). Where that leaves several, the user chooses.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.profiles import Profile, WithoutPlan
from ralph_ls.core.plan.formats.github.format import MIRROR, QUEUE
from ralph_ls.core.plan.formats.registry import FORMATS, format_of_file
from ralph_ls.core.plan.formats.task_master.format import TASK_MASTER
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import RalphError, StateUnusable, UsageError
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.files import read_regular
from ralph_ls.store.project.detection import (
    DetectedPlan,
    detect_plans,
    likely_plans,
    places_without_plan,
    text_at,
)

FEATURE_VARIABLE = "SPECIFY_FEATURE"
FEATURE_FILE = ".specify/feature.json"
LARGEST_FEATURE_FILE = 65_536
MOST_READ = 200
"""Most plans that are read to find those with open tasks."""

_NUMBER = re.compile(r"[0-9]+(?=-)")


def plans_of_tools(
    root: Path,
    environment: Mapping[str, str],
    profile: Profile,
    named: str | None,
    *,
    earlier: str | None = None,
    has_queue: bool = False,
) -> tuple[DetectedPlan, ...]:
    """The plans of other tools that a run could work on; none where the profile's is there.

    ``named`` is the plan of the settings, ``earlier`` that of the run that is resumed. ``spec``
    writes its plan itself, so that it takes no other without being given one. A queue on GitHub
    counts only if the settings name it (``has_queue``), and comes first then.
    """
    is_fixed = profile.without_plan is WithoutPlan.PLAN or not profile.plan_files
    if named or is_fixed or any((root / name).exists() for name in profile.plan_files):
        return ()
    if has_queue:
        return (DetectedPlan(kind=PlanKind.GITHUB, path=MIRROR),)
    found = [one for one in detect_plans(root) if one.kind is not PlanKind.GITHUB]
    known = tuple(one for one in found if one.path == earlier)
    # A list in the root, such as todo.txt, may be anything beside the plan of a tool.
    likely = [one for one in found if "/" in one.path]
    return known or choose_plans(root, likely or found, environment)


def plan_path(root: Path, named: str) -> str:
    """The path of a plan that the user names by its path, or by its feature or change.

    A queue with its label or milestone stays as it is written.
    """
    if (root / named).is_file():
        return named
    found = find_named(all_plans(root), named)
    if found is None:
        return MIRROR if named == QUEUE else named
    return found.address


def all_plans(root: Path) -> tuple[DetectedPlan, ...]:
    """The plans of other tools, each tag of Task Master as one; reads its files."""
    return tuple(one for found in detect_plans(root) for one in _tags_of(root, found) or (found,))


TASK_MASTER_STATE = ".taskmaster/state.json"


def current_tag_of(root: Path, path: str) -> str:
    """The tag that is current in Task Master, if the tasks at ``path`` have it; else empty."""
    from ralph_ls.core.plan.formats.task_master.task_file import current_tag, tags_in

    if path != TASK_MASTER.files[0]:
        return ""
    tag = current_tag(text_at(root, TASK_MASTER_STATE) or "")
    return tag if tag in tags_in(text_at(root, path) or "") else ""


def split_address(named: str) -> tuple[str, str]:
    """The path and the tag in ``PATH#TAG``; the tag is empty where there is none."""
    path, _, tag = named.partition("#")
    is_tagged = tag and format_of_file(path, PlanKind.MARKDOWN).name is PlanKind.TASK_MASTER
    return (path, tag) if is_tagged else (named, "")


def _tags_of(root: Path, plan: DetectedPlan) -> tuple[DetectedPlan, ...]:
    """The plans in a file of Task Master that has several; none for any other."""
    from ralph_ls.core.plan.formats.task_master.task_file import FIRST_TAG, tags_in

    if plan.kind is not PlanKind.TASK_MASTER:
        return ()
    tags = tags_in(text_at(root, plan.path) or "")
    default = FIRST_TAG if FIRST_TAG in tags else next(iter(tags), "")
    current = current_tag_of(root, plan.path) or default
    found = (replace(plan, tag=tag, is_current=tag == current) for tag in tags)
    return tuple(found) if len(tags) > 1 else ()


QUEUE_KEYS = ("label", "milestone", "assignee")


def queue_settings(named: str) -> dict[str, str] | None:
    """The settings, by dotted key, that a plan such as ``github:label=ralph`` means.

    What it does not name is taken back. None where it names no queue; raises ``UsageError`` where
    it does so in another form.
    """
    word, _, rest = named.partition(":")
    if word != QUEUE:
        return None
    if not rest.strip():
        return {"paths.plan": MIRROR}
    given = {"paths.plan": MIRROR} | {f"plan.github.{key}": "" for key in QUEUE_KEYS}
    for part in rest.split(","):
        key, equals, value = (one.strip() for one in part.partition("="))
        if key not in QUEUE_KEYS or not equals or not value:
            raise UsageError(
                f"{named!r} names no queue; write it as {QUEUE}, {QUEUE}:label=NAME or "
                f"{QUEUE}:milestone=TITLE, with ,assignee=LOGIN behind it"
            )
        given[f"plan.github.{key}"] = value
    return given


SHOWN_PLANS = 10

FROM_EXISTING = "ralph init --from-existing --plan"


def short_name(plans: Sequence[DetectedPlan], plan: DetectedPlan) -> str:
    """What names a plan among others: its name, where no other has it, else its path."""
    is_only = sum(one.name == plan.name for one in plans) == 1
    return plan.name if is_only else plan.address


def several_plans(plans: Sequence[DetectedPlan], command: str = "ralph run --plan") -> str:
    """Why nobody knows which plan is meant, with each of them and the command that names one.

    Unless it is remembered anyway, also the one that names it for every run.
    """
    names = [f"{short_name(plans, one)} ({FORMATS[one.kind].title})" for one in plans[:SHOWN_PLANS]]
    more = len(plans) - SHOWN_PLANS
    listed = ", ".join([*names, f"and {more} more"] if more > 0 else names)
    name = shlex.quote(short_name(plans, plans[0]))
    said = f"several plans are here: {listed}; choose one: {command} {name}"
    if all(one.is_finished for one in plans):
        said = f"all plans here are done: {listed}; write the next, or name one: {command} {name}"
    if command == FROM_EXISTING:
        return said
    return f"{said}, or for every run: ralph config set paths.plan {shlex.quote(plans[0].address)}"


def choose_plans(
    root: Path, found: Sequence[DetectedPlan], environment: Mapping[str, str]
) -> tuple[DetectedPlan, ...]:
    """The plan to work on; several where only the user can say, none where there is none."""
    if len(found) < 2:
        return tuple(found)
    for name in _names(root, environment):
        named = [one for one in found if _is_named(one, name)]
        if len(named) == 1:
            return tuple(named)
    read = [(one, progress_of(root, one)) for one in found[:MOST_READ]]
    is_open = [one for one, (done, total) in read if done < total]
    if len(is_open) == 1:
        return tuple(is_open)
    is_over = len(read) == len(found) and all(done == total > 0 for _, (done, total) in read)
    return tuple(replace(one, is_finished=is_over) for one in found)


def find_named(found: Sequence[DetectedPlan], name: str) -> DetectedPlan | None:
    """The plan of that name or path; None where there is none, or several."""
    same = _all_named(found, name)
    return same[0] if len(same) == 1 else None


def why_no_plan(root: Path, named: str) -> str:
    """Why what the user names is no plan, and what to do then."""
    found = all_plans(root)
    if len(same := _all_named(found, named)) > 1:
        paths = [one.address for one in same]
        return f"several plans are named {named}: {', '.join(paths)}; name one by its path"
    for known in FORMATS.values():
        if known.begin and any(_is_part(named, one) for one in places_without_plan(root, known)):
            return f"{named} has no plan yet; {known.begin}"
    meant = did_you_mean(named, [one.name for one in found])
    paths = [one.path for one in found]
    meant = meant or did_you_mean(named, [*paths, *likely_plans(root)])
    is_folder = (root / named).is_dir()
    said = f"{named} is a folder, and no plan" if is_folder else f"there is no plan {named}"
    return f"{said}{meant or '; list the plans here: ralph plan --all'}"


def _all_named(found: Sequence[DetectedPlan], name: str) -> list[DetectedPlan]:
    path = name.removeprefix("./").rstrip("/")
    same = [one for one in found if path in {one.path, one.path.rpartition("/")[0]}]
    same = same or [one for one in found if path in {one.name, one.name.removesuffix(".md")}]
    # The path of several names the one that is current; the others are named by their tags.
    same = [one for one in found if path == f"{one.path}#{one.tag}"] or same
    return [one for one in same if one.is_current] or same


def _is_part(name: str, folder: str) -> bool:
    """Whether a name is that of a folder, or its path."""
    path = name.removeprefix("./").rstrip("/")
    return path in {folder, folder.rpartition("/")[2]}


def progress_of(root: Path, plan: DetectedPlan) -> tuple[int, int]:
    """Its finished tasks, and all of them, without skipped ones; none if it cannot be read."""
    from ralph_ls.store.project.plan_file import PlanLocation, text_of_plan

    try:
        text = text_of_plan(root, PlanLocation(path=plan.path, kind=plan.kind))
    except RalphError:
        return 0, 0
    return _counted(text, plan.kind, plan.tag or current_tag_of(root, plan.path))


@functools.lru_cache(maxsize=MOST_READ)
def _counted(text: str, kind: PlanKind, tag: str) -> tuple[int, int]:
    from ralph_ls.core.plan.formats.dispatch import parse_plan
    from ralph_ls.core.plan.queries import count_tasks

    plan = parse_plan(text, kind, tag=tag).plan
    counts = count_tasks(plan)
    n_skipped = sum(n for (state, _), n in plan.tally().items() if state is TaskState.SKIPPED)
    return counts.done, counts.total - n_skipped


def _names(root: Path, environment: Mapping[str, str]) -> list[str]:
    """What names the feature in progress, the most explicit first."""
    names = [environment.get(FEATURE_VARIABLE, ""), branch_of(root), _feature_of(root)]
    return [name.rstrip("/").rpartition("/")[2] for name in names if name]


def _is_named(plan: DetectedPlan, name: str) -> bool:
    """A feature of spec-kit may be on several branches, which begin with its number."""
    if plan.name == name:
        return True
    number, own = _NUMBER.match(name), _NUMBER.match(plan.name)
    is_same = number is not None and own is not None and number[0] == own[0]
    return is_same and plan.kind is PlanKind.SPEC_KIT


def branch_of(root: Path) -> str:
    """The branch that is checked out, from git's own file; empty where none is."""
    try:
        git = root / ".git"
        if git.is_file():
            place = (read_regular(git, LARGEST_FEATURE_FILE) or b"").decode("utf-8", "replace")
            git = root / place.removeprefix("gitdir:").strip()
        head = (read_regular(git / "HEAD", LARGEST_FEATURE_FILE) or b"").decode("utf-8", "replace")
    except (StateUnusable, OSError, ValueError):
        return ""
    prefix = "ref: refs/heads/"
    return head.strip().removeprefix(prefix) if head.startswith(prefix) else ""


def _feature_of(root: Path) -> str:
    """The feature that spec-kit's own file names."""
    try:
        data = json.loads(read_regular(root / FEATURE_FILE, LARGEST_FEATURE_FILE) or b"{}")
    except (StateUnusable, ValueError, RecursionError):
        return ""
    value = data.get("feature_directory") if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""
