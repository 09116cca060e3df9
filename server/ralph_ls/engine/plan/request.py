"""Request source: a run without tasks, whose request stays what it was when the run began.

See docs/rules.md#requests. Where there is no task, nothing is refused; the agent reports when the
request is fulfilled. A checklist in a request is not read, and settings that need tasks do not fit.
The plan's text is the stored request, in JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.effects import SetTaskAside
from ralph_ls.core.loop.inputs import Notice, PlanFacts
from ralph_ls.core.plan.model import ParsedPlan, Plan
from ralph_ls.core.plurals import count_of
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.engine.plan.source import (
    NOBODY,
    GuardedPlan,
    LocatedPlan,
    PlanSource,
    WatchedIteration,
)
from ralph_ls.protocol.config.config import Config, FirstMode, GateRule
from ralph_ls.protocol.errors import ConfigError, PlanMissing, UsageError
from ralph_ls.protocol.plan import Request, RequestKind, RequestView
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, PlanCountsView
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.request import load_request, read_request, save_request

WITHOUT_TASKS = frozenset({GateRule.STATUS, GateRule.VERIFIED})
"""Gates that an agent can satisfy where no plan has a task."""


class RequestSource(PlanSource):
    """The text of a request, read once (docs/rules.md#requests)."""

    def __init__(
        self, root: Path, config: Config, path: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(root, config, path, environment)
        self._text = ""
        self._request: Request | None = None

    @classmethod
    def locate(
        cls, root: Path, settings: LoadedSettings, environment: Mapping[str, str], *, resume: bool
    ) -> LocatedPlan:
        del resume
        _require_fitting(settings.config)
        return _found(read_request(root, settings, environment))

    @classmethod
    def kept(cls, folder: Path) -> LocatedPlan:
        return _found(load_request(folder))

    def keep(self, folder: Path) -> None:
        save_request(folder, self._held())

    def begin(self, settings: LoadedSettings, found: LocatedPlan, *, resume: bool) -> list[Notice]:
        """Store the request, and return notices about it."""
        _require_fitting(settings.config)
        self._text, self._request = found.text, _request(found.text)
        return [] if resume else _notices(self._request)

    @property
    def file(self) -> None:
        """No file: a later change of the document is another request."""
        return None

    @property
    def own_files(self) -> tuple[str, ...]:
        is_file = self._request is not None and self._request.kind is RequestKind.FILE
        return (self.path,) if is_file else ()

    @property
    def request(self) -> RequestView:
        return self._held().view

    def request_in(self, text: str) -> RequestView:
        return _request(text).view

    def with_context(self, context: PromptContext, text: str) -> PromptContext:
        # A preview has a text that no run began with.
        request = self._request or _request(text)
        return replace(context, request=request.text)

    def read(self) -> str:
        self._held()
        return self._text

    def _held(self) -> Request:
        if self._request is None:
            raise PlanMissing(f"the request {self.path} was never read; start a run: ralph run")
        return self._request

    def _parse(self, text: str) -> ParsedPlan:
        del text
        return ParsedPlan(plan=Plan(tasks=()))

    def counts(self, text: str, *, task: str | None = None) -> PlanCountsView:
        del text, task
        return PlanCountsView()

    def facts(
        self,
        text: str,
        *,
        task: str | None = None,
        set_aside: Mapping[str, int] = NOBODY,
        skipped: Collection[str] = (),
    ) -> PlanFacts:
        del text, task, set_aside, skipped
        return PlanFacts()

    def mode(self, text: str, facts: PlanFacts, run: RunState) -> Mode:
        del text, facts, run
        return Mode.BUILD

    def set_aside(self, order: SetTaskAside) -> str:
        raise PlanMissing(f"a request has no tasks, so {order.task.id} cannot be marked in it")

    def guarded(self, before: str, after: str, iteration: WatchedIteration) -> GuardedPlan:
        del before, iteration
        return GuardedPlan(text=after)


def _require_fitting(config: Config) -> None:
    """Raise for settings that want tasks of a plan, where the plan is a request."""
    if config.task is not None:
        raise UsageError(
            f"a request has no tasks, so there is no {config.task!r} to run; leave --task out"
        )
    if config.mode is FirstMode.PLAN:
        raise UsageError(
            "a request has no plan to write; leave --mode plan out, or choose another profile "
            "with --profile"
        )
    if config.gate.rule not in WITHOUT_TASKS:
        fitting = " or ".join(f'"{rule.value}"' for rule in GateRule if rule in WITHOUT_TASKS)
        raise ConfigError(
            f'gate.rule = "{config.gate.rule.value}" needs a plan with tasks, but a request has '
            f"none; set gate.rule = {fitting}"
        )


def _notices(request: Request) -> list[Notice]:
    notices = []
    if request.is_closed:
        message = f"{request.source} is closed on GitHub; the run works on it anyway"
        notices.append(Notice(code="request-closed", message=message))
    if request.comments_left_out:
        message = (
            f"the oldest {count_of(request.comments_left_out, 'comment')} of {request.source} are "
            "not given to the agent, because the request would be too large"
        )
        notices.append(Notice(code="request-cut", message=message))
    return notices


def _found(request: Request) -> LocatedPlan:
    return LocatedPlan(path=request.source, text=request.model_dump_json(by_alias=True))


def _request(text: str) -> Request:
    return Request.model_validate_json(text)
