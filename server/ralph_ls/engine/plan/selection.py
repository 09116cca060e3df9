"""Selection of the plan source: by the kind that the profile names (docs/rules.md#profiles)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.engine.plan.source import LocatedPlan, PlanSource
from ralph_ls.protocol.config.config import Config
from ralph_ls.store.project.config_file import LoadedSettings


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
    kind = _kind(settings.config)
    kept = None if folder is None else kind.kept(folder)
    return kept or kind.locate(root, settings, environment, resume=resume)


def source_of(root: Path, config: Config, path: str, environment: Mapping[str, str]) -> PlanSource:
    """The source of a run's plan; ``path`` is where, or as what, it was found."""
    return _kind(config)(root, config, path, environment)


def _kind(config: Config) -> type[PlanSource]:
    match profile_of(config.profile).plan_kind:
        case PlanKind.MARKDOWN:
            from ralph_ls.engine.plan.markdown import MarkdownSource

            return MarkdownSource
        case PlanKind.BEADS:
            from ralph_ls.engine.plan.beads import BeadsSource

            return BeadsSource
        case PlanKind.REQUEST:
            from ralph_ls.engine.plan.request import RequestSource

            return RequestSource
        case PlanKind.STORIES:
            from ralph_ls.engine.plan.stories import StoriesSource

            return StoriesSource
        case kind:
            raise AssertionError(f"no source for {kind}")
