"""A run of every profile to each of its endings, with an agent in sh that plays the agent's part.

Every profile can end in all seven ways (docs/rules.md#exit-codes); what leads there differs, and is
what the profile is about. ``ENDINGS`` is the whole table: a test counts that no place in it is
empty.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.run.values import EndReason
from tests.engine.project_builder import git, make_repository
from tests.engine.ralph_runner import Project
from tests.fakes import bd

SPEC, FIXPLAN, STORIES, BEADS, ISSUE = ProfileName
COMPLETE, LIMIT, BLOCKED, DECIDE, STUCK, FATAL, STOPPED = EndReason

SPECIFICATION = "---\nstatus: active\n---\n\n# Login\n\nPeople log in with a password.\n"
PLAN = "# Implementation Plan\n\n## Remaining Tasks\n\n1. Check the password (specs/login.md)\n"
TWO_TASKS = f"{PLAN}2. Remember who logged in (specs/login.md)\n"
REQUEST = "# Letters get lost\n\nFind out why, and mend it. Done when the test passes.\n"
STORY = {
    "id": "US-001",
    "title": "Send a mail",
    "description": "As a user I get a mail when my password was reset.",
    "acceptanceCriteria": ["the test of the mailer passes"],
    "priority": 1,
    "passes": False,
    "reviewStatus": None,
    "reviewCount": 0,
    "reviewFeedback": "",
    "notes": "",
}
STORIES_FILE = (
    json.dumps({"project": "shop", "branchName": "", "userStories": [STORY]}, indent=2) + "\n"
)
ISSUES: tuple[dict[str, Any], ...] = (
    {
        "id": "shop-1",
        "title": "Send a mail",
        "priority": 1,
        "acceptance_criteria": "- [ ] the mailer's test passes (make test - exit 0)",
    },
    {
        "id": "shop-2",
        "title": "Say so in the log",
        "priority": 2,
        "acceptance_criteria": "- [ ] the log has a line for it (make test - exit 0)",
        "needs": ["shop-1"],
    },
)

HELPERS = """\
now=IMPLEMENTATION_PLAN.md
finished() { sed -i "\\#$1#d" $now; printf '# Progress\\n\\n- [x] %s\\n' "$1" >>PROGRESS.md; }
set_field() { sed -i 's/"'"$1"'": [^,]*\\(,*\\)$/"'"$1"'": '"$2"'\\1/' ralph/tasks.json; }
mode() { sed -n 's/.*Its mode is `\\([a-z-]*\\)`.*/\\1/p' "$kept/prompt-$RALPH_START"; }
issue() { sed -n 's/^Task: \\(shop-[0-9]*\\):.*/\\1/p' "$kept/prompt-$RALPH_START"; }
closes() { bd close "$(issue)" --reason "Acceptance criteria verified:
- [x] $1 (make test - exit 0)" >/dev/null; }
did() { report "STATUS: $1" "TASKS_COMPLETED_THIS_LOOP: $2" 'FILES_MODIFIED: 1' \\
    'TESTS_STATUS: PASSING'; }
clarity() { say '---CLARITY_STATUS---' "$@" '---END_CLARITY_STATUS---'; }
"""
"""What an agent needs for the plans of all profiles, beside what each agent of a test has."""

WORKS = "work; commit; report 'STATUS: IN_PROGRESS'"
ASKS = "say '<promise>DECIDE:By mail or by text message?</promise>'; report 'STATUS: IN_PROGRESS'"
IS_BLOCKED = "say '<promise>BLOCKED:The mail server has no address.</promise>'"
GIVES_UP = "report 'STATUS: BLOCKED' 'RECOMMENDATION: The mail server has no address'"
IDLES = "report 'STATUS: IN_PROGRESS' 'FILES_MODIFIED: 0'"
CRASHES = "exit 3"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """One run: what is there, who works on it, and whether somebody ends it."""

    profile: ProfileName
    agent: str
    shows: str
    """What is to be seen in it, in one sentence for people."""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    issues: tuple[dict[str, Any], ...] = ISSUES
    interrupted: bool = False
    """The user presses Ctrl-C twice while the agent works."""
    remote: Literal["none", "empty", "ahead"] = "none"
    """What the branch is pushed to; one that is ahead has a commit that is not here."""

    def act(self, project: Project) -> None:
        """Play it to its end."""
        folder = project.repository.parent
        environment = {"PATH": os.environ["PATH"]}
        settings = dict(_FILES[self.profile])
        make_repository(project.repository, files={**settings, **self.files})
        git(project.repository, "rm", "-q", "@fix_plan.md")
        git(project.repository, "commit", "-q", "-m", "The plan of this profile alone")
        if self.profile is BEADS:
            bd.install(folder / "bd-bin")
            environment["PATH"] = os.pathsep.join([str(folder / "bd-bin"), environment["PATH"]])
            bd.seed(project.repository, *self.issues)
            exclude = project.repository / ".git" / "info" / "exclude"
            exclude.write_text("/.beads/\n", encoding="utf-8")
        if self.remote != "none":
            self._add_remote(project)
        project.agent(HELPERS + self.agent)
        running = project.start(*self.arguments, env=environment)
        if self.interrupted:
            running.wait_for("agentStarted")
            running.press_ctrl_c_twice()
        running.wait()

    def _add_remote(self, project: Project) -> None:
        here, there = project.repository, project.repository.parent / "remote.git"
        git(here.parent, "init", "-q", "--bare", str(there))
        git(here, "remote", "add", "origin", f"../{there.name}")
        if self.remote == "ahead":
            git(here, "commit", "-q", "--allow-empty", "-m", "Somebody was here first")
            git(here, "push", "-q", "origin", "HEAD")
            git(here, "reset", "-q", "--hard", "HEAD~1")


def _settings(profile: ProfileName, more: str = "") -> dict[str, str]:
    return {".ralph/config.toml": f'profile = "{profile.value}"\n{more}'}


_FILES: Mapping[ProfileName, Mapping[str, str]] = {
    SPEC: {
        **_settings(SPEC, 'commits = "agent"\npush = false\n'),
        "specs/login.md": SPECIFICATION,
        "IMPLEMENTATION_PLAN.md": PLAN,
    },
    STORIES: {**_settings(STORIES), "ralph/tasks.json": STORIES_FILE},
    BEADS: _settings(BEADS),
    ISSUE: {**_settings(ISSUE, '[issue]\nfile = "issue.md"\n'), "issue.md": REQUEST},
}

_CYCLE = """\
case $(mode) in
implement) work; set_field reviewStatus '"needs_review"' ;;
review-fix) work; set_field reviewStatus '"needs_review"'; set_field reviewFeedback '""' ;;
review)
    if [ "$RALPH_START" = 2 ]; then
        set_field reviewCount 1
        set_field reviewStatus '"changes_requested"'
        set_field reviewFeedback '"The mail has no sender."'
    else
        set_field reviewCount 2
        set_field reviewStatus '"approved"'
        set_field passes true
        say '<promise>COMPLETE</promise>'
    fi ;;
esac
commit
did IN_PROGRESS 1
"""
_PLANS = f"""\
if [ "$(mode)" = plan ]; then
    printf '%s' '{PLAN}' >$now; commit 'ralph: plan'; did IN_PROGRESS 0; exit
fi
if grep -q Check $now; then
    work; finished 'Check the password (specs/login.md)'; commit; did COMPLETE 1; exit
fi
report 'STATUS: COMPLETE'
"""
_BUILDS = """\
if [ "$RALPH_START" = 1 ]; then
    work; finished 'Check the password (specs/login.md)'; commit; did IN_PROGRESS 1; exit
fi
work; finished 'Remember who logged in (specs/login.md)'; printf '\\nPROJECT_COMPLETE\\n' >>$now
commit; did COMPLETE 1
"""
_LEAVES_THE_COMMITS = _BUILDS.replace("commit; ", "")
_CLOSES = """\
work; commit
case $(issue) in
shop-1) closes "the mailer's test passes" ;;
shop-2) closes "the log has a line for it" ;;
esac
did IN_PROGRESS 1
"""
_FULFILS = """\
work; commit; if [ "$RALPH_START" = 1 ]
then clarity 'STATUS: IN_PROGRESS' 'FILES_MODIFIED: 1' 'WORK_SUMMARY: Found where they get lost'
else clarity 'STATUS: COMPLETE' 'FILES_MODIFIED: 1' 'EXIT_SIGNAL: true' 'PR_READY: true'; fi
"""
_ASKS_BACK = """\
clarity 'STATUS: NEEDS_CLARIFICATION' 'CLARIFICATION_NEEDED: true' \\
    'CLARIFICATION_QUESTIONS: Which letters get lost?'
"""


def _plays(
    profile: ProfileName, endings: Mapping[EndReason, tuple[str, str, dict[str, Any]]]
) -> dict[EndReason, ProfileRun]:
    """By their ending: what is shown, the agent, and what else there is to say."""
    return {
        ending: ProfileRun(profile=profile, shows=shows, agent=agent, **more)
        for ending, (shows, agent, more) in endings.items()
    }


_STOPPED = (
    "The user presses Ctrl-C twice while the agent works.",
    "exec sleep 60",
    {"interrupted": True},
)
_CRASHES: tuple[str, str, dict[str, Any]] = (
    "The agent exits three times without any output.",
    CRASHES,
    {},
)

_PLAYED: Mapping[ProfileName, Mapping[EndReason, ProfileRun]] = {
    SPEC: _plays(
        SPEC,
        {
            COMPLETE: (
                "Both tasks are done, and the agent writes PROJECT_COMPLETE into the plan.",
                _BUILDS,
                {"files": {"IMPLEMENTATION_PLAN.md": TWO_TASKS}},
            ),
            LIMIT: ("The run was limited to one iteration.", WORKS, {"arguments": ("1",)}),
            BLOCKED: (
                "The agent gives up the only task, which is marked in the plan.",
                GIVES_UP,
                {},
            ),
            DECIDE: ("The agent asks a question.", ASKS, {}),
            STUCK: (
                "The agent gives up two tasks in a row, so the problem is not the task.",
                GIVES_UP,
                {"files": {"IMPLEMENTATION_PLAN.md": TWO_TASKS}},
            ),
            FATAL: (
                "An iteration times out, which ends a run of this profile.",
                "work; exec sleep 60",
                {"arguments": ("--timeout", "1s")},
            ),
            STOPPED: _STOPPED,
        },
    ),
    STORIES: _plays(
        STORIES,
        {
            COMPLETE: (
                "A story is implemented, reviewed, fixed, reviewed again and approved.",
                _CYCLE,
                {},
            ),
            LIMIT: (
                "The run was limited to two iterations; the story still needs its review.",
                _CYCLE,
                {"arguments": ("2",)},
            ),
            BLOCKED: (
                "The review is blocked; the story stays as it was.",
                f'[ "$(mode)" = implement ] && {{ {_CYCLE} exit; }}\n{IS_BLOCKED}',
                {},
            ),
            DECIDE: ("The agent asks a question.", ASKS, {}),
            STUCK: ("Three iterations in a row make no commit.", IDLES, {}),
            FATAL: _CRASHES,
            STOPPED: _STOPPED,
        },
    ),
    BEADS: _plays(
        BEADS,
        {
            COMPLETE: ("Both issues are closed with evidence.", _CLOSES, {}),
            LIMIT: ("The run was limited to one iteration.", WORKS, {"arguments": ("1",)}),
            BLOCKED: (
                "An issue is given up, planning does not help, and another one depends on it.",
                GIVES_UP,
                {},
            ),
            DECIDE: ("The agent asks a question.", ASKS, {}),
            STUCK: (
                "The agent gives up two issues in a row, so the problem is not the issue.",
                GIVES_UP,
                {"issues": tuple({**one, "needs": []} for one in ISSUES)},
            ),
            FATAL: _CRASHES,
            STOPPED: _STOPPED,
        },
    ),
    ISSUE: _plays(
        ISSUE,
        {
            COMPLETE: (
                "The work takes two iterations, and a pull request is ready.",
                _FULFILS,
                {},
            ),
            LIMIT: (
                "The run was limited to one iteration.",
                "work; commit; clarity 'STATUS: IN_PROGRESS'",
                {"arguments": ("1",)},
            ),
            BLOCKED: (
                "Something is missing that only the user can provide.",
                f"{IS_BLOCKED}; clarity 'STATUS: IN_PROGRESS'",
                {},
            ),
            DECIDE: (
                "The request is unclear, and the agent asks for clarification.",
                _ASKS_BACK,
                {},
            ),
            STUCK: (
                "Three iterations in a row make no progress.",
                "clarity 'STATUS: IN_PROGRESS' 'FILES_MODIFIED: 0'",
                {},
            ),
            FATAL: _CRASHES,
            STOPPED: _STOPPED,
        },
    ),
}

MORE: Mapping[str, ProfileRun] = {
    "spec-plans-and-is-confirmed": ProfileRun(
        profile=SPEC,
        shows="There is no plan: the first iteration writes it. When the task is done without the "
        "marker, one more iteration confirms it.",
        agent=_PLANS,
        files={"IMPLEMENTATION_PLAN.md": ""},
    ),
    "spec-replans": ProfileRun(
        profile=SPEC,
        shows="`ralph replan 1` opens the task in progress again and plans first.",
        agent=_PLANS,
        arguments=("1", "--mode", "plan"),
        files={"IMPLEMENTATION_PLAN.md": f"{PLAN}2. [IN PROGRESS] Remember who logged in\n"},
    ),
    "spec-commits-and-pushes": ProfileRun(
        profile=SPEC,
        shows="The agent only works: the loop commits what an iteration changed, with the task in "
        "the message, and pushes it; the first push creates the remote branch.",
        agent=_LEAVES_THE_COMMITS,
        files={**_settings(SPEC), "IMPLEMENTATION_PLAN.md": TWO_TASKS},
        remote="empty",
    ),
    "spec-is-behind-its-remote": ProfileRun(
        profile=SPEC,
        shows="The remote branch has a commit that is missing here: nothing is forced, and the run "
        "ends with the next step.",
        agent=_LEAVES_THE_COMMITS,
        files=_settings(SPEC),
        remote="ahead",
    ),
}
"""Modes and hand-overs of ``spec`` that no ending by itself shows."""

_OF_FIXPLAN: Mapping[EndReason, tuple[str, str]] = {
    COMPLETE: ("finishes", "The tasks are done, and the agent signals completion twice."),
    LIMIT: ("limit", "The run was limited to two iterations."),
    BLOCKED: ("is-blocked", "Something is missing that only the user can provide."),
    DECIDE: ("asks", "The agent asks a question."),
    STUCK: ("no-progress", "Three iterations in a row make no progress."),
    FATAL: ("crashes", "The agent exits three times without any output."),
    STOPPED: ("ended-by-term", "The system sends TERM to the engine while the agent works."),
}
"""Histories that were there before, all of them of this profile, and what each shows."""

ENDINGS: Mapping[ProfileName, Mapping[EndReason, str]] = {
    profile: {ending: name for ending, (name, _) in _OF_FIXPLAN.items()}
    if profile is FIXPLAN
    else {ending: f"{profile.value}-{ending.value}" for ending in _PLAYED[profile]}
    for profile in ProfileName
}
"""Which history shows a profile come to an ending."""

PLAYS: Mapping[str, ProfileRun] = {
    **{
        ENDINGS[profile][ending]: play
        for profile, plays in _PLAYED.items()
        for ending, play in plays.items()
    },
    **MORE,
}


def shown_by(profile: ProfileName, ending: EndReason) -> str:
    """What is to be seen in the history of that ending, in one sentence for people."""
    if profile is FIXPLAN:
        return _OF_FIXPLAN[ending][1]
    return _PLAYED[profile][ending].shows


def projects() -> dict[str, Callable[[Project], None]]:
    """What is recorded, by name."""
    return {name: play.act for name, play in PLAYS.items()}
