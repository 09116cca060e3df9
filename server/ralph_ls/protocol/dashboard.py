"""The dashboard's document: figures of runs by folder, range, day, agent and task.

The page only draws it: every figure is computed by the core, as ``ralph runs --json`` prints it.
"""

from __future__ import annotations

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel, WorkspaceParams
from ralph_ls.protocol.json_output import ParallelMetrics, RunAnywhere, RunMetrics, TotalMetrics
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.values import BreakerState, Outcome


class FigureGroup(WireModel):
    """Iterations that have something in common, and their figures together."""

    key: str
    """The id of their run, their day, their agent, or their task."""
    name: str
    """As it is shown: the title of a task, the name of an agent."""
    model: str | None = None
    """The model that their agent was given; None: its own choice, or different ones."""
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    iterations: int = 0
    """Those that count."""
    clean: int = 0
    success_rate: float | None = None
    """Clean iterations of those that count, 0 to 1."""
    seconds: float = 0.0
    files: int = 0
    """Different files of a run; elsewhere the sum over iterations."""
    commits: int = 0
    tasks_done: int = 0
    tokens: int | None = None
    cost_usd: float | None = None
    estimated: bool = False
    without_cost: int = 0
    """Iterations that count and whose cost is unknown."""
    cost_per_task: float | None = None
    largest_context: float | None = None
    """Largest share of the context window that an iteration used, 0 to 1."""
    validations: int = 0
    failed_validations: int = 0
    opens: int = 0
    """How often the breaker opened."""
    workspace: str | None = None
    """Of a task: its work tree."""
    is_done: bool = False
    """Of a task: the last run that worked on it has a receipt for it."""


class DashboardRange(WireModel):
    """Figures of a choice of folder and time: of the runs that were active since then."""

    folder: int | None = None
    """Index in ``folders``; None: all together."""
    days: int | None = None
    """The length of the range; None: all time."""
    since: Timestamp | None = None
    totals: TotalMetrics = TotalMetrics.model_construct()
    per_day: tuple[FigureGroup, ...] = ()
    """By the day on which iterations ended, in the time zone of the machine."""
    agents: tuple[FigureGroup, ...] = ()
    """By agent and model, the most iterations first."""
    tasks: tuple[FigureGroup, ...] = ()
    """Those that took the most iterations, the most first."""


class IterationColumns(WireModel):
    """The iterations of a work tree, oldest first: in each column one value an iteration.

    Columns, since names would be most of the document of ten thousand iterations. ``tasks`` and
    ``agents`` hold indices in ``task_titles`` and ``agent_names``.
    """

    runs: tuple[int, ...] = ()
    """Index of its run in ``runs``."""
    numbers: tuple[int, ...] = ()
    ended_at: tuple[int, ...] = ()
    """Milliseconds since 1970."""
    counted: tuple[bool, ...] = ()
    clean: tuple[bool, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    modes: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    files: tuple[int, ...] = ()
    commits: tuple[int, ...] = ()
    tasks_done: tuple[int, ...] = ()
    tokens: tuple[int | None, ...] = ()
    cost_usd: tuple[float | None, ...] = ()
    estimated: tuple[bool, ...] = ()
    context: tuple[float | None, ...] = ()
    """Share of the context window, 0 to 1."""
    validated: tuple[bool | None, ...] = ()
    breakers: tuple[BreakerState, ...] = ()
    tasks: tuple[int | None, ...] = ()
    agents: tuple[int | None, ...] = ()
    failures: tuple[AgentFailure | None, ...] = ()
    task_titles: tuple[str, ...] = ()
    agent_names: tuple[str, ...] = ()
    """``claude``, or with the model that it was given: ``claude · sonnet``."""


class FigureSums(WireModel):
    """Figures of iterations that add up: those of two groups together are the sums of both."""

    key: str = ""
    """What they have in common, as in ``FigureGroup``."""
    name: str = ""
    model: str | None = None
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    iterations: int = 0
    """Those that count."""
    clean: int = 0
    seconds: float = 0.0
    counted_seconds: float = 0.0
    files: int = 0
    commits: int = 0
    tasks_done: int = 0
    tokens: int | None = None
    without_tokens: int = 0
    cost_usd: float | None = None
    """Not rounded."""
    estimated: bool = False
    without_cost: int = 0
    shares: int = 0
    """Iterations whose share of the context window is known."""
    share_sum: float = 0.0
    largest_share: float | None = None
    validations: int = 0
    failed_validations: int = 0
    opens: int = 0


class ReviewSums(WireModel):
    """What reviews found, in figures that add up."""

    reviews: int = 0
    findings: int = 0
    with_findings: int = 0
    approved: int = 0
    approved_at_cap: int = 0


class RunSums(WireModel):
    """A run in figures that add up."""

    run: RunMetrics
    """The run without its iterations and receipts."""
    sums: FigureSums
    modes: tuple[FigureSums, ...] = ()
    """In the order in which they came first; of uncounted iterations too."""
    failures: dict[str, int] = Field(default_factory=dict)
    reviews: ReviewSums = ReviewSums.model_construct()


class RunDigest(RunSums):
    """What lists and dashboards show of a run: kept, so that its journal is read once."""

    days: tuple[FigureSums, ...] = ()
    """By the day on which iterations ended, in the time zone that it was made for."""
    agents: tuple[FigureSums, ...] = ()
    tasks: tuple[FigureSums, ...] = ()
    """Of iterations that count, by the id of their task."""
    done: tuple[str, ...] = ()
    """Ids of the tasks that have a receipt."""
    columns: IterationColumns = IterationColumns.model_construct()


class DashboardRun(FigureGroup):
    """The figures of one run."""

    end: str
    """The reason of its end; else ``running``, ``parked`` or ``crashed``."""
    answers: int = 0
    resets: int = 0
    edits: int = 0
    parallel: ParallelMetrics | None = None
    """Of a parallel run."""


class DashboardFolder(WireModel):
    """One work tree."""

    workspace: str
    name: str
    now: RunAnywhere | None = None
    """Its newest run; None where there never was one."""
    stopped: str | None = None
    """Why that run stopped; None while it continues."""
    runs: tuple[DashboardRun, ...] = ()
    """Oldest first."""
    iterations: IterationColumns = IterationColumns.model_construct()


class Dashboard(WireModel):
    """What ``ralph dashboard --json`` prints, and what its page shows."""

    made_at: Timestamp
    version: str
    folders: tuple[DashboardFolder, ...] = ()
    ranges: tuple[DashboardRange, ...] = ()


class DashboardParams(WorkspaceParams):
    """Ask for the figures of one work tree; of all that are open where none is named."""
