"""A repository with a request in it, and agents that report in a clarity block."""

from __future__ import annotations

from tests.engine.ralph_runner import Project

REQUEST = "# Letters get lost\n\nFind out why.\n\n- [ ] a box that nobody ticks\n"

CLARITY = "clarity() { say '---CLARITY_STATUS---' \"$@\" '---END_CLARITY_STATUS---'; }\n"

FULFILS = "work; commit; clarity 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' 'FILES_MODIFIED: 1'"
WORKS = "work; commit; clarity 'STATUS: IN_PROGRESS' 'FILES_MODIFIED: 1'"
IDLES = "clarity 'STATUS: IN_PROGRESS' 'FILES_MODIFIED: 0'"
ASKS = (
    "clarity 'STATUS: NEEDS_CLARIFICATION' 'EXIT_SIGNAL: true' 'CLARIFICATION_NEEDED: true' "
    "'CLARIFICATION_QUESTIONS: Which letters?' 'WORK_SUMMARY: I looked at the log'"
)


def issue_project(
    project: Project, agent: str, *, config: str = "", request: str = REQUEST
) -> Project:
    files = {"issue.md": request}
    if config:
        files[".ralph/config.toml"] = config
    return project.plan(files=files).agent(CLARITY + agent)
