"""Table of verbs: name, group, summary, examples, module and function of each, and who may use it.

It is data: reading it imports neither a verb's module nor the command-line library, so help,
completion and the errors about verbs are fast. ``command_line`` makes commands of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Group(StrEnum):
    """Headings of ``ralph --help``, in this order."""

    RUN = "Run"
    LOOK = "Look"
    STEER = "Steer"
    PLAN = "Plan"
    SET_UP = "Set up"
    MAINTAIN = "Maintain"


class ReadOnlyVerb(NamedTuple):
    """The verb changes nothing that a run rests on; anybody may use it."""


class UserOnlyVerb(NamedTuple):
    """The verb is for the user alone."""

    unless: tuple[str, ...] = ()
    """Options with which it only shows something."""
    by_command: bool = False
    """Whether commands of ``on_*``, which speak for the user, may use it."""
    trust: bool = False
    """Whether it approves what may be executed."""
    reading: tuple[str, ...] = ()
    """Values of its argument ACTION with which it only shows something."""


VerbAccess = ReadOnlyVerb | UserOnlyVerb

READ_ONLY = ReadOnlyVerb()
USER_ONLY = UserOnlyVerb()
UNLESS_DRY_RUN = UserOnlyVerb(unless=("dry_run",))


class VerbEntry(NamedTuple):
    """One verb of the program."""

    group: Group
    summary: str
    """Imperative, at most 60 characters, without a full stop."""
    module: str
    """In the package ``commands``."""
    function: str
    control: VerbAccess
    """Whether it changes a run, its work tree or trust, and so is refused inside an iteration."""
    examples: tuple[str, ...]
    """Command lines, each with what it does as a comment."""


VERBS: Mapping[str, VerbEntry] = {
    "run": VerbEntry(
        Group.RUN,
        "Run the loop: one task, one commit, then the next task",
        "run",
        "run_verb",
        UNLESS_DRY_RUN,
        (
            "ralph run 20  # at most 20 iterations",
            "ralph run -p 'Fix the login'  # one sentence instead of a plan",
            "ralph run --agent claude --max-cost 5  # stop at 5 US dollars",
            "ralph run --dry-run  # show what would start, and start nothing",
            "ralph run --resume  # continue the last run",
        ),
    ),
    "fleet": VerbEntry(
        Group.RUN,
        "Work on the plans of many repositories, on many machines",
        "fleet.verb",
        "fleet_verb",
        UserOnlyVerb(reading=("list", "status", "logs")),
        (
            "ralph fleet add ~/src/api  # a folder, or a URL with --push",
            "ralph fleet run --until-done  # all plans, on this machine",
            "ralph fleet worker --database URL  # take tasks that others queued",
            "ralph fleet status  # what is merged, at work, and waits for you",
            "ralph fleet retry 'api#T3'  # try a parked task again",
        ),
    ),
    "demo": VerbEntry(
        Group.RUN,
        "Watch a whole run on a sample project, without a key",
        "doctor_allow_demo",
        "demo",
        READ_ONLY,
        (
            "ralph demo  # in a new temporary folder",
            "ralph demo ./sample  # in this folder, which must be empty or new",
        ),
    ),
    "status": VerbEntry(
        Group.LOOK,
        "Show the state of the last run, and what it needs from you",
        "status",
        "status",
        READ_ONLY,
        (
            "ralph status  # phase, task, limits and the next command",
            "ralph status --why  # the decision after each iteration",
            "ralph status --json  # for scripts",
        ),
    ),
    "watch": VerbEntry(
        Group.LOOK,
        "Follow the current run live until it ends",
        "watch",
        "watch",
        READ_ONLY,
        (
            "ralph watch  # in any terminal; Ctrl-C stops watching, not the run",
            "ralph watch --json  # one event a line",
        ),
    ),
    "logs": VerbEntry(
        Group.LOOK,
        "Print what the agent wrote, as it worked",
        "runs.logs",
        "logs_verb",
        READ_ONLY,
        (
            "ralph logs -f  # follow the current iteration",
            "ralph logs 3 --tools  # of iteration 3, with its tool calls",
            "ralph logs 1a2b --grep error  # matching lines of another run",
        ),
    ),
    "ps": VerbEntry(
        Group.LOOK,
        "List your live and waiting runs in all repositories",
        "runs.everywhere",
        "ps_verb",
        READ_ONLY,
        (
            "ralph ps  # where, task, cost, and what each needs from you",
            "ralph ps --json  # for scripts",
        ),
    ),
    "inbox": VerbEntry(
        Group.LOOK,
        "List what waits for you in all repositories; answer it",
        "runs.everywhere",
        "inbox_verb",
        UserOnlyVerb(reading=("list",)),
        (
            "ralph inbox  # questions, blockers, reviews and approvals, newest first",
            "ralph inbox answer 1 Use SQLite  # quotes are optional",
            'ralph inbox answer 2 "1"  # the first of its options',
        ),
    ),
    "report": VerbEntry(
        Group.LOOK,
        "Write a one-page report about a run, to share",
        "history",
        "report",
        READ_ONLY,
        (
            "ralph report  # the last run, as Markdown",
            "ralph report --output run.html  # as a web page",
        ),
    ),
    "dashboard": VerbEntry(
        Group.LOOK,
        "Show work, cost and trouble of your runs as a page",
        "runs.dashboard",
        "dashboard_verb",
        UserOnlyVerb(unless=("as_json",)),
        (
            "ralph dashboard  # of this repository, in your browser",
            "ralph dashboard --all --output dashboard.html  # of all, as a file to share",
            "ralph dashboard --serve  # with live updates, until Ctrl-C",
        ),
    ),
    "runs": VerbEntry(
        Group.LOOK,
        "List the runs here: ends, tasks, time, cost and totals",
        "runs.listing",
        "runs_verb",
        READ_ONLY,
        (
            "ralph runs  # oldest first, the totals below",
            "ralph runs --json  # with every iteration",
        ),
    ),
    "show": VerbEntry(
        Group.LOOK,
        "Show one run, or one iteration whole",
        "runs.listing",
        "show_verb",
        READ_ONLY,
        (
            "ralph show  # the iterations and finished tasks of the last run",
            "ralph show 3  # prompt, evidence, report, changes and cost of iteration 3",
            "ralph show 1a2b 3  # of the run whose id ends or begins so",
        ),
    ),
    "export": VerbEntry(
        Group.LOOK,
        "Print every iteration as CSV or JSON",
        "history",
        "export",
        READ_ONLY,
        (
            "ralph export > iterations.csv  # for a spreadsheet",
            "ralph export --format json  # for a program",
        ),
    ),
    "learn": VerbEntry(
        Group.LOOK,
        "Show what the runs here have taught, and propose lessons",
        "lessons.learn",
        "learn_verb",
        UNLESS_DRY_RUN,
        (
            "ralph learn  # from the history alone, without a model",
            "ralph learn --agent claude  # an agent proposes lessons too",
            "ralph learn --dry-run --json  # for scripts; writes nothing",
        ),
    ),
    "lessons": VerbEntry(
        Group.STEER,
        "List lessons, and decide which of them prompts have",
        "lessons.manage",
        "lessons_verb",
        UserOnlyVerb(trust=True, reading=("list", "show", "export")),
        (
            "ralph lessons  # proposed, accepted, and whether they help",
            "ralph lessons show use-uv  # all of it",
            "ralph lessons accept use-uv --scope language --match python  # in all such projects",
            "ralph lessons reject use-uv  # never proposed here again",
            "ralph lessons export --output lessons.json  # for your team",
            "ralph lessons import lessons.json  # as proposals",
        ),
    ),
    "stop": VerbEntry(
        Group.STEER,
        "Stop the run after this iteration, or at once",
        "steer",
        "stop",
        UserOnlyVerb(by_command=True),
        (
            "ralph stop  # finish this iteration first",
            "ralph stop --now  # end the agent at once",
        ),
    ),
    "pause": VerbEntry(
        Group.STEER,
        "Pause the run after this iteration",
        "steer",
        "pause",
        USER_ONLY,
        ("ralph pause  # continue later with: ralph resume",),
    ),
    "resume": VerbEntry(
        Group.STEER,
        "Continue after a pause, review or resolved blocker",
        "steer",
        "resume",
        USER_ONLY,
        (
            "ralph resume  # after a pause, a review, or a blocker you resolved",
            "ralph resume --no-continue  # record it, and start nothing",
        ),
    ),
    "answer": VerbEntry(
        Group.STEER,
        "Answer the question the run waits for",
        "steer",
        "answer",
        UserOnlyVerb(by_command=True),
        (
            "ralph answer Use SQLite, no server  # quotes are optional",
            'ralph answer "2"  # the second of the options',
        ),
    ),
    "note": VerbEntry(
        Group.STEER,
        "Send a note to the agent of the next iteration",
        "steer",
        "note",
        UserOnlyVerb(by_command=True),
        ("ralph note The staging database is down today  # in the next prompt",),
    ),
    "skip": VerbEntry(
        Group.STEER,
        "Skip a task for the rest of this run",
        "steer",
        "skip",
        USER_ONLY,
        ("ralph skip 7  # the ids are in: ralph plan",),
    ),
    "pr": VerbEntry(
        Group.STEER,
        "Push what a parallel run merged, and open pull requests",
        "runs.pull_request",
        "pull_request_verb",
        UNLESS_DRY_RUN,
        (
            "ralph pr  # one for the branch of the last run",
            "ralph pr --each --draft  # one a task, each based on the one before",
            "ralph pr --dry-run  # show what would be pushed",
        ),
    ),
    "attach": VerbEntry(
        Group.STEER,
        "Open an iteration's session in the agent's own program",
        "runs.attach",
        "attach_verb",
        USER_ONLY,
        (
            "ralph attach  # pauses the run, and opens the newest session",
            "ralph attach 3  # that of iteration 3",
            "ralph attach 1a2b 3 --no-continue  # of an earlier run; starts nothing afterwards",
        ),
    ),
    "reset-task": VerbEntry(
        Group.STEER,
        "Reopen a task and forget its failed attempts",
        "steer",
        "reset_task",
        USER_ONLY,
        ("ralph reset-task 7  # the ids are in: ralph plan",),
    ),
    "reset": VerbEntry(
        Group.STEER,
        "Close the circuit breaker and reset its counters",
        "steer",
        "reset",
        USER_ONLY,
        (
            "ralph reset  # after you fixed what stopped the run",
            "ralph reset --continue  # and continue the run",
        ),
    ),
    "overrule": VerbEntry(
        Group.STEER,
        "Accept work for which the judge requests changes",
        "steer",
        "overrule",
        USER_ONLY,
        (
            "ralph overrule  # all that it requests",
            "ralph overrule 7 --continue  # one task, and continue the run",
        ),
    ),
    "rollback": VerbEntry(
        Group.STEER,
        "Undo iterations; their commits stay on a backup branch",
        "steer",
        "rollback",
        UNLESS_DRY_RUN,
        (
            "ralph rollback 1 --dry-run  # show what the last iteration did",
            "ralph rollback 2  # undo the last two, after a preview",
            "ralph rollback --before 3  # back to before start 3",
        ),
    ),
    "plan": VerbEntry(
        Group.PLAN,
        "Show the tasks of the plan, and its problems",
        "plan_and_read",
        "show_plan",
        READ_ONLY,
        (
            "ralph plan  # the plan of this repository",
            "ralph plan docs/plan.md  # another file",
            "ralph plan --all  # every feature and change, with its progress",
            "ralph plan --json  # with ids and lines",
        ),
    ),
    "replan": VerbEntry(
        Group.PLAN,
        "Rewrite the plan first, then run the loop on it",
        "run",
        "replan_verb",
        USER_ONLY,
        ("ralph replan 10  # at most 10 iterations, the first of them plans",),
    ),
    "propose": VerbEntry(
        Group.PLAN,
        "Ask an agent for plan items; writes nothing",
        "wizard",
        "propose_plan",
        READ_ONLY,
        ('ralph propose --agent claude --description "Add a login page"  # prints JSON',),
    ),
    "prompt": VerbEntry(
        Group.PLAN,
        "Print the prompt the next agent would get",
        "prompt",
        "prompt_verb",
        READ_ONLY,
        (
            "ralph prompt  # with task, answer and notes",
            "ralph prompt --mode review  # of a review",
        ),
    ),
    "archive": VerbEntry(
        Group.PLAN,
        "Move finished plans and progress to archive/",
        "history",
        "archive",
        UNLESS_DRY_RUN,
        (
            "ralph archive --dry-run  # show what would move",
            "ralph archive --label v1.2  # name it",
        ),
    ),
    "init": VerbEntry(
        Group.SET_UP,
        "Set up a loop in this repository",
        "init",
        "init",
        UserOnlyVerb(unless=("dry_run", "choices")),
        (
            "ralph init  # two questions; shows each file before it writes it",
            "ralph init --agent claude --task 'Fix the login' --yes  # asks nothing",
            "ralph init --template python-cli  # plan, AGENTS.md and a validation script",
            "ralph init --dry-run  # show the files, and write nothing",
        ),
    ),
    "allow": VerbEntry(
        Group.SET_UP,
        "Review and approve the commands this repository runs",
        "doctor_allow_demo",
        "allow",
        UserOnlyVerb(trust=True),
        (
            "ralph allow  # shows everything, then asks",
            "ralph allow --yes  # in a script, after you looked",
        ),
    ),
    "config": VerbEntry(
        Group.SET_UP,
        "Show, change and explain settings",
        "config",
        "config_verb",
        UserOnlyVerb(reading=("show", "get", "explain")),
        (
            "ralph config  # what differs from the defaults, and where it is set",
            "ralph config set max_iterations 20  # in .ralph/config.toml",
            "ralph config set --user agent codex  # for all repositories",
            "ralph config get timeouts.iteration  # the value alone",
            "ralph config explain on_halt  # meaning, values, default, example",
            "ralph config edit  # in your editor, checked afterwards",
            "ralph config migrate  # renames old keys in your files",
        ),
    ),
    "notify": VerbEntry(
        Group.SET_UP,
        "Test how runs notify you: phone, chat, mail, command",
        "runs.notify",
        "notify_verb",
        USER_ONLY,
        (
            "ralph notify test  # send a sample question to every destination",
            "ralph notify test --event complete  # another event",
        ),
    ),
    "doctor": VerbEntry(
        Group.SET_UP,
        "Check everything a run needs, and say how to fix it",
        "doctor_allow_demo",
        "doctor",
        READ_ONLY,
        (
            "ralph doctor  # git, agent, plan, settings, last run",
            "ralph doctor --agent codex --network  # also reach the remote",
        ),
    ),
    "help": VerbEntry(
        Group.SET_UP,
        "Show the help of a verb, or a page of the docs",
        "help",
        "help_verb",
        READ_ONLY,
        (
            "ralph help  # list all verbs",
            "ralph help run  # options and examples of run",
            "ralph help quick-start  # a page",
            "ralph help --man > ralph.1  # the man page",
        ),
    ),
    "prune": VerbEntry(
        Group.MAINTAIN,
        "Delete the output of old runs; their figures stay",
        "prune",
        "prune_verb",
        UNLESS_DRY_RUN,
        (
            "ralph prune --dry-run  # show what would be deleted",
            "ralph prune --all --keep-days 30  # in every repository",
        ),
    ),
    "read": VerbEntry(
        Group.MAINTAIN,
        "Show what the loop reads in an agent's output",
        "plan_and_read",
        "read_output",
        READ_ONLY,
        (
            "ralph read output.txt  # status block, promises, errors",
            "ralph read --agent claude stream.jsonl  # an agent's JSON lines",
        ),
    ),
    "simulate": VerbEntry(
        Group.MAINTAIN,
        "Replay a run or a trace under other settings",
        "simulate",
        "simulate",
        READ_ONLY,
        (
            "ralph simulate trace.jsonl --profile spec  # a trace you wrote",
            "ralph simulate journal.jsonl --set max_stuck=3  # a recorded run",
        ),
    ),
    "hook": VerbEntry(
        Group.MAINTAIN,
        "Answer an agent's stop hook",
        "hook",
        "hook_verb",
        READ_ONLY,
        ("ralph hook stop  # agents call this; set it up with: ralph init --hooks",),
    ),
    "mcp": VerbEntry(
        Group.MAINTAIN,
        "Give the agent of an iteration tools to report with",
        "hook",
        "mcp_verb",
        READ_ONLY,
        ("ralph mcp  # ralph run starts this for agents",),
    ),
    "serve": VerbEntry(
        Group.MAINTAIN,
        "Start the language server for an editor",
        "serve",
        "serve_verb",
        READ_ONLY,
        ("ralph serve --stdio  # editors start this",),
    ),
}
"""Every verb, by groups and in the order of the help.

``demo``, ``propose`` and ``serve`` change no run: the first makes a separate repository, the
second writes nothing, and the requests to the third are looked at one by one.
"""

ALIASES: Mapping[str, str] = {"stats": "runs"}
"""Earlier names of verbs, which stay valid; help and completion offer the verb alone."""
