"""Messages between an editor's setup wizard and the server.

A draft may be wrong in any way and is judged, so its fields are looser than those of what is
written at last. It must never know where a file is in a user's home, nor how it is written.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from ralph_ls.protocol.base import StrictWireModel, WireModel, WorkspaceParams
from ralph_ls.protocol.config.agent import PromptBy
from ralph_ls.protocol.config.config import ProfileName, names_a_branch
from ralph_ls.protocol.config.tables import Duration, SignalWord, TreePath
from ralph_ls.protocol.run.commands import MAX_TEXT
from ralph_ls.protocol.task_words import Priority

MAX_ITEMS = 500
"""More tasks than anybody ticks one by one."""

LongText = Annotated[str, Field(max_length=MAX_TEXT)]


class TemplateSource(StrEnum):
    """Where a template comes from."""

    BUILT_IN = "builtIn"
    OWN = "own"
    """From the user's folder of templates."""


class SetupField(StrEnum):
    """What a problem is about."""

    DESCRIPTION = "description"
    COMPLETION_PHRASE = "completionPhrase"
    TIMEOUT = "timeout"
    ITEMS = "items"


class SetupSeverity(StrEnum):
    """How much a problem matters."""

    ERROR = "error"
    """Nothing can be written with it."""
    WARNING = "warning"
    INFORMATION = "information"


class SetupFileAction(StrEnum):
    """What becomes of a file."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    """It is there already, and stays as it is."""


# ------------------------------------------------------------------------------------- requests


class DraftItem(StrictWireModel):
    """One item of a plan that is being drafted."""

    title: LongText
    priority: Priority = Priority.P1
    detail: LongText = ""
    """More about it, such as its acceptance criteria; it may have several lines."""


Items = Annotated[tuple[DraftItem, ...], Field(max_length=MAX_ITEMS)]


class SetupChoicesParams(WorkspaceParams):
    """Ask what can be chosen when a loop is set up here, and what is there already."""


class ValidateSetupParams(WorkspaceParams):
    """Check a draft by the rules that setup applies; what is left out is not checked."""

    description: LongText | None = None
    completion_phrase: LongText | None = None
    timeout: float | LongText | None = None
    """Of one iteration: seconds, or a text such as ``30m``."""
    items: Items | None = None
    """Those that are selected."""
    profile: ProfileName | None = None
    """Some need no items; without it they are needed."""


class ProposePlanParams(WorkspaceParams):
    """Let an agent break a task down into the items of a plan; nothing is written.

    The answer takes as long as the agent does; ``$/cancelRequest`` ends the agent.
    """

    description: LongText
    profile: ProfileName | None = None
    template: Annotated[str, Field(min_length=1)] | None = None
    """Id of a template, whose items the agent gets as an example."""
    agent: Annotated[str, Field(min_length=1)] | None = None
    agent_command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Program and arguments of a ``command`` agent."""
    agent_prompt: PromptBy | None = None


class SetupParams(WorkspaceParams):
    """Set up a loop: show every file that would be written, or write them all."""

    description: LongText = ""
    profile: ProfileName | None = None
    """Without it the one that fits the folder, else ``fixplan``."""
    template: Annotated[str, Field(min_length=1)] | None = None
    """Id of the template that the description began with, and whose other files are wanted."""
    completion_phrase: SignalWord | None = None
    agent: Annotated[str, Field(min_length=1)] | None = None
    agent_command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Program and arguments of a ``command`` agent."""
    agent_prompt: PromptBy | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    timeout: Duration | None = None
    """Of one iteration; from 5 to 60 minutes."""
    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_duration: Duration | None = None
    """Of a run."""
    work_branch: Annotated[str, AfterValidator(names_a_branch)] | None = None
    """The branch of a run, or ``auto``."""
    items: Items = ()
    """Those that are selected, in their order."""
    existing_plan: TreePath | None = None
    """The plan to use if it exists already; items are added to it."""
    items_from_description: bool = False
    """Without ``items``, whether the description itself is the plan's first task, or its tasks
    where it is a list."""
    issue: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The request of the profile ``issue``: a file, or an issue such as ``owner/name#123``."""
    dry_run: bool = True
    """Whether the files are only shown."""


class ClaimsParams(WorkspaceParams):
    """Ask what this repository brings that would run, and what of it is approved."""


class AllowParams(WorkspaceParams):
    """Approve what was shown; refused if anything of it has changed since."""

    shown: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """The ``digest`` of the claims that the user saw."""


class ConfigureParams(WorkspaceParams):
    """Write a setting of the loop into the work tree's configuration, or into the user's own."""

    key: Annotated[str, Field(pattern=r"^[a-z][a-z_.]*$")]
    """With dots, such as ``timeouts.iteration``."""
    value: str | None = None
    """As it would be typed; without it the setting is removed."""
    user: bool = False
    """Whether it is for all of the user's repositories."""


class PlansParams(WorkspaceParams):
    """Get the plans that are here, with the progress of each.

    One is chosen for every run with ``ralph/configure`` and the key ``paths.plan``.
    """


class DemoParams(WorkspaceParams):
    """Create the sample project in a new temporary folder; nothing is started.

    It needs no work tree, so ``workspace`` is not looked at.
    """


# -------------------------------------------------------------------------------------- results


class FoundPlan(WireModel):
    """A plan that a run could work on."""

    name: str
    """What ``ralph run --plan`` takes: the name of a feature, a change or a tag, else the path."""
    path: str
    """Relative to the work tree's root, as ``paths.plan`` has it: with ``#TAG`` for a tag of Task
    Master that is not its current one."""
    format: str
    title: str
    """Of the format, as its users call it."""
    done: int
    total: int
    """Its tasks; 0 also where it could not be read."""
    chosen: bool
    """Whether a run takes it now."""


class PlansResult(WireModel):
    """The plans of a work tree."""

    plans: tuple[FoundPlan, ...]


class ProfileChoice(WireModel):
    """A profile that can be set up here."""

    name: ProfileName
    title: str
    detail: str
    plan: str
    """Path of its plan, relative to the work tree's root; empty if it is not a file."""
    needs_items: bool = True
    """Whether setup writes its plan, and so needs items for it."""


class TemplateChoice(WireModel):
    """A kind of task, with the skeleton of its description and some items."""

    id: str
    """Unique among all; own ones begin with ``own:``."""
    title: str
    detail: str = ""
    source: TemplateSource
    description: str
    """What the description begins with; the user completes it."""
    items: tuple[PlanItem, ...] = ()
    profile: ProfileName | None = None
    """The one that it was made for."""
    path: str | None = None
    """Of the file, where it is the user's own."""


class AgentChoice(WireModel):
    """An agent that can be named; any other program is given as ``agentCommand``."""

    name: str
    found: bool
    """Whether its program is there."""
    detail: str
    """The path of its program, or where it was searched for."""
    needs_allow: bool = False
    """Whether the repository brings its command, which is not approved yet."""
    reports_cost: bool = False
    """Whether its cost is known, so that a limit of cost can be held."""


class SetupDefaults(WireModel):
    """What holds where nothing else is chosen: from the settings, else from the profile."""

    max_iterations: int
    timeout: float
    """Seconds."""
    completion_phrase: str
    agent: str
    max_cost_usd: float | None = None


class SetupChoicesResult(WireModel):
    """What can be chosen: agents that were found come first."""

    profiles: tuple[ProfileChoice, ...] = ()
    profile: ProfileName | None = None
    """The one that fits the folder; None if none or several do."""
    templates: tuple[TemplateChoice, ...] = ()
    template_folder: str
    """The folder of the user's own templates, whether it exists or not."""
    agents: tuple[AgentChoice, ...] = ()
    existing_plan: str | None = None
    """Path of a plan that exists already, relative to the work tree's root."""
    already_set_up: bool = False
    """Whether there is a ``.ralph/config.toml``."""
    defaults: SetupDefaults
    notes: tuple[str, ...] = ()
    """What could not be read, such as a template that is not a text file."""


class SetupFix(WireModel):
    """What settles a problem at once."""

    title: str
    text: str
    """Appended to the field, on a separate line."""


class SetupProblem(WireModel):
    """One problem in a draft."""

    field: SetupField
    severity: SetupSeverity
    code: str
    message: str
    fix: SetupFix | None = None


class ValidateSetupResult(WireModel):
    """What is wrong, the most severe first."""

    problems: tuple[SetupProblem, ...] = ()


class PlanItem(WireModel):
    """One item of a plan."""

    title: str
    priority: Priority = Priority.P1
    detail: str = ""


class ProposePlanResult(WireModel):
    """What the agent proposes; none of it is written."""

    items: tuple[PlanItem, ...] = ()
    notes: tuple[str, ...] = ()
    """What the user should know about it, such as files that the agent changed unasked."""


class SetupFile(WireModel):
    """One file of the setup, with its whole text as it will be."""

    path: str
    """Relative to the work tree's root."""
    action: SetupFileAction
    text: str


class SetupResult(WireModel):
    """The files, in the order in which they are written."""

    written: bool = False
    """False: they are only shown."""
    files: tuple[SetupFile, ...] = ()
    notes: tuple[str, ...] = ()
    """What the user should know, such as what is left to do."""


class ClaimView(WireModel):
    """One command, script or prompt that the repository would have run."""

    key: str
    """A setting such as ``agents.command``, the path of a file, or ``verify: `` with a command."""
    text: str
    """The setting or the file's content, cut where it is long; empty for a file git ignores."""
    cut: bool = False
    """Whether ``text`` is not all of it."""
    path: str | None = None
    """The file with all of it, relative to the work tree's root."""
    allowed: bool
    not_covered: tuple[str, ...] = ()
    """What it runs that no approval covers, in words."""


class ClaimsResult(WireModel):
    """What the repository brings, and the digest of all that is shown."""

    allowed: bool
    """Whether nothing is left to approve."""
    digest: str
    claims: tuple[ClaimView, ...] = ()


class ConfigureResult(WireModel):
    """What was written, and where."""

    text: str
    """In words for the user."""


class DemoResult(WireModel):
    """The sample project: a git repository with a plan, ready to be started."""

    folder: str
    """Its path."""
