"""Selection of the plan source: by how the format of the plan is stored (docs/rules.md#plans)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import assert_never

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanStorage
from ralph_ls.engine.plan.source import LocatedPlan, PlanSource
from ralph_ls.protocol.config.config import Config
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.detection import format_at


def locate_plan(
    root: Path,
    settings: LoadedSettings,
    environment: Mapping[str, str],
    *,
    resume: bool = False,
    folder: Path | None = None,
) -> LocatedPlan:
    """The plan that a start works on; writes nothing. Raises as ``PlanSource.locate``.

    ``folder`` has the files of the run that is resumed; None: a new run.
    """
    config = settings.config
    known = format_at(root, config.paths.plan, profile_of(config.profile).plan_kind)
    source = _source_class(known)
    kept = None if folder is None else source.kept(folder)
    return kept or source.locate(root, settings, environment, resume=resume)


def source_of(
    root: Path,
    config: Config,
    path: str,
    environment: Mapping[str, str],
    *,
    redact: Callable[[str], str] = str,
) -> PlanSource:
    """The source of a run's plan; ``path`` is where, or as what, it was found.

    ``redact`` replaces secrets in what is written elsewhere.
    """
    known = format_at(root, path, profile_of(config.profile).plan_kind)
    source = _source_class(known)(root, config, path, environment)
    source.redact = redact
    return source


def _source_class(known: PlanFormat) -> type[PlanSource]:
    match known.storage:
        case PlanStorage.MARKDOWN:
            from ralph_ls.engine.plan.markdown import MarkdownSource

            return MarkdownSource
        case PlanStorage.TRACKER:
            from ralph_ls.engine.plan.beads import BeadsSource

            return BeadsSource
        case PlanStorage.REQUEST:
            from ralph_ls.engine.plan.request import RequestSource

            return RequestSource
        case PlanStorage.STORIES:
            from ralph_ls.engine.plan.stories import StoriesSource

            return StoriesSource
        case PlanStorage.FILE:
            from ralph_ls.engine.plan.structured import FileSource

            return FileSource
        case PlanStorage.FOLDER:
            from ralph_ls.engine.plan.structured import FolderSource

            return FolderSource
        case PlanStorage.MIRROR:
            from ralph_ls.engine.plan.github import GithubSource

            return GithubSource
        case _:  # pragma: no cover
            assert_never(known.storage)
