"""What is no request is refused before a run begins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.engine.issue.request_project import WORKS, issue_project
from tests.engine.ralph_runner import Project
from tests.fakes import gh

pytestmark = pytest.mark.slow

REFUSALS: Mapping[str, tuple[tuple[str, ...], str, int, str]] = {
    "nothing-is-named": (("--profile", "issue"), "", 5, "give one with --issue"),
    "no-file": (("--issue", "lost.md"), "", 5, "there is no request at"),
    "a-folder": (("--issue", "."), "", 5, "not a regular file"),
    "empty": (("--issue", "empty.md"), "", 5, "the request in empty.md is empty"),
    "no-utf-8": (("--issue", "latin.md"), "", 5, "is not UTF-8 (byte 3)"),
    "too-large": (("--issue", "large.md"), "", 5, "larger than 262,144 bytes"),
    "nothing-on-stdin": (("--issue", "-"), "", 5, "the request in standard input is empty"),
    "another-profile": (("--issue", "issue.md", "--profile", "spec"), "", 64, "leave --profile"),
    "a-url-of-nothing": (("--issue", "https://example.com/x"), "", 64, "is not an issue on GitHub"),
    "no-name": (("--issue", ""), "", 64, "--issue is empty"),
    "with-resume": (("--issue", "issue.md", "--resume"), "", 64, "keeps the request"),
    "with-a-task": (("--issue", "issue.md", "--task", "x"), "", 64, "a request has no tasks"),
    "with-plan-mode": (("--issue", "issue.md", "--mode", "plan"), "", 64, "leave --mode plan out"),
    "a-gate-that-asks-for-tasks": (
        ("--issue", "issue.md"),
        '[gate]\nrule = "queue"\n',
        78,
        'set gate.rule = "verified" or "status"',
    ),
    "two-requests": (
        ("--profile", "issue"),
        '[issue]\nfile = "issue.md"\ngithub = "#12"\n',
        78,
        "a run works on one request",
    ),
    "a-name-that-is-no-issue": (
        ("--profile", "issue"),
        '[issue]\ngithub = "twelve"\n',
        78,
        "config.toml:2: issue.github: 'twelve' is not an issue on GitHub; write 123",
    ),
    "a-file-of-the-repository-that-leads-out": (
        ("--profile", "issue"),
        '[issue]\nfile = "../kept/secret"\n',
        78,
        "which leads out of the work tree",
    ),
    "a-link-of-the-repository-that-leads-out": (
        ("--profile", "issue"),
        '[issue]\nfile = "link.md"\n',
        78,
        "which leads out of the work tree",
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS.keys())
def test_what_is_no_request_is_refused(
    project: Project, case: tuple[tuple[str, ...], str, int, str]
) -> None:
    arguments, config, code, said = case
    issue_project(project, "exit 9", config=config)
    (project.kept / "secret").write_text("a secret", encoding="utf-8")
    project.file("empty.md").write_bytes(b" \n")
    project.file("latin.md").write_bytes(b"na\xefve")
    project.file("large.md").write_bytes(b"x" * 300_000)
    project.file("link.md").symlink_to(project.kept / "secret")
    done = project.run("3", *arguments)
    assert (done.exit_code, done.events) == (code, ())
    assert said in done.stderr


@pytest.mark.parametrize(
    ("around", "said"),
    [
        ({"PATH": "/nowhere"}, "gh, which was not found on PATH"),
        ({"GH_TOKEN": ""}, "run: gh auth login"),
        ({"FAKE_GH_OFFLINE": "1"}, "gh cannot reach GitHub"),
        ({"FAKE_GH_OLD": "1"}, "this version of gh cannot read"),
    ],
)
def test_an_issue_that_gh_does_not_get_is_refused(
    project: Project, github: Path, around: dict[str, str], said: str, tmp_path: Path
) -> None:
    issue_project(project, "exit 9")
    if "PATH" in around:
        around = {"PATH": gh.path_without(tmp_path / "links", os.environ["PATH"])}
    done = project.run("3", "--issue", "ada/invoice#12", env=around)
    assert (done.exit_code, done.events) == (5, ())
    assert said in done.stderr


def test_an_issue_that_is_not_there_is_refused(project: Project, github: Path) -> None:
    done = issue_project(project, "exit 9").run("3", "--issue", "ada/invoice#99")
    assert (done.exit_code, done.events) == (5, ())
    assert "gh issue list --repo ada/invoice" in done.stderr


def test_a_gh_that_the_repository_brings_is_not_run(project: Project, tmp_path: Path) -> None:
    issue_project(project, "exit 9")
    gh.install(project.repository / "bin")
    path = gh.path_without(tmp_path / "links", os.environ["PATH"])
    around = {"PATH": f"{project.repository / 'bin'}{os.pathsep}{path}"}
    done = project.run("3", "--issue", "ada/invoice#12", env=around)
    assert done.exit_code == 5
    assert "was not found on PATH" in done.stderr


def test_a_run_whose_request_is_gone_does_not_continue(project: Project) -> None:
    issue_project(project, WORKS)
    assert project.run("1", "--issue", "issue.md").exit_code == 1
    (project.run_folder() / "request.json").unlink()
    done = project.run("2", "--resume")
    assert done.exit_code == 5
    assert "start a new run: ralph run --issue" in done.stderr
