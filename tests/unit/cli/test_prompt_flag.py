"""``ralph run -p`` and ``--prompt``: a loop from one sentence, or from the text of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.store.run.launch import run_arguments
from tests.engine.project_builder import git, write_agent
from tests.unit.cli.cli_runner import Ralph

DONE = (
    "cat >../prompt; echo x >>work; git add -A; git commit -qm Work; "
    "printf '%s\\n' ---CLARITY_STATUS--- 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' "
    "'FILES_MODIFIED: 1' ---END_CLARITY_STATUS---"
)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_a_sentence_becomes_a_run_of_twenty_iterations(
    ralph: Ralph, repository: Path, tmp_path: Path
) -> None:
    agent = write_agent(tmp_path / "agents", DONE)
    said = ralph(repository, "run", "-p", "Paint it -- blue", "--agent-command", agent)
    assert said.code == 0
    assert "Request: Paint it -- blue (command line)" in said.out
    assert "Limits: at most 20 iterations" in said.out
    assert "> Paint it -- blue" in (tmp_path / "prompt").read_text(encoding="utf-8")


@pytest.mark.parametrize("flag", ["-p", "--prompt"])
def test_a_dry_run_shows_the_prompt(ralph: Ralph, repository: Path, flag: str) -> None:
    given = "Paint it blue"
    if flag == "--prompt":
        (repository / "PROMPT.md").write_text(f"{given}\n", encoding="utf-8")
    what = given if flag == "-p" else "PROMPT.md"
    said = ralph(repository, "run", flag, what, "--dry-run", "--agent", "demo", "--json")
    assert (said.code, said.err) == (0, "")
    assert "> Paint it blue" in said.json["prompt"]
    assert said.json["settings"]["profile"] == "issue"


def test_with_a_profile_that_plans_it_is_planned_from(ralph: Ralph, bare: Path) -> None:
    flags = ("run", "-p", "Send letters by mail", "--profile", "fixplan", "--agent", "demo")
    shown = ralph(bare, *flags, "--dry-run", "--json")
    assert not (bare / "specs").exists()
    assert shown.code == 5
    (bare / "@fix_plan.md").write_text("- [ ] x\n", encoding="utf-8")
    refused = ralph(bare, *flags)
    assert (refused.code, (bare / "specs").exists()) == (64, False)
    assert "@fix_plan.md is here already" in refused.err


def test_a_plan_is_made_from_the_sentence(ralph: Ralph, bare: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agents", "cat >../prompt; echo '- [ ] a' >>@fix_plan.md")
    flags = ("-p", "Send letters by mail", "--profile", "fixplan", "--agent-command", agent)
    said = ralph(bare, "run", "1", *flags)
    assert said.code == 1
    assert "wrote specs/send-letters-by-mail.md" in said.err
    assert "make the plan" in said.out


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (("Fix it",), 64, "to work on a sentence: ralph run -p 'Fix it'"),
        (("0",), 64, "0 iterations are too few"),
        (("-p", " "), 64, "-p is empty; say what to do"),
        (("--prompt", ""), 64, "--prompt is empty; name a file"),
        (("--prompt", "lost.md"), 5, "--prompt lost.md: there is no such file"),
        (("--prompt", "empty.md"), 5, "--prompt empty.md: the file is empty"),
        (("--prompt", "."), 5, "not a regular file"),
        (("-p", "x", "--prompt", "y"), 64, "-p and --prompt do not go together"),
        (("-p", "x", "--resume"), 64, "keeps the request that it began with"),
        (("-p", "x", "--profile", "stories"), 64, "leave --profile out"),
        (("-p", "x", "--task", "y"), 64, "a request has no tasks"),
    ],
)
def test_what_cannot_be_worked_on_is_refused(
    ralph: Ralph, bare: Path, flags: tuple[str, ...], code: int, words: str
) -> None:
    (bare / "empty.md").write_text("\n", encoding="utf-8")
    said = ralph(bare, "run", "--agent", "demo", *flags)
    assert (said.code, said.out) == (code, "")
    assert words in said.err


def test_a_run_in_the_background_gets_the_same_sentence() -> None:
    overrides = {"profile": "issue", "issue.text": "a\nb", "issue.file": "", "issue.github": ""}
    assert run_arguments(overrides) == ["run", "--profile", "issue", "-p", "a\nb"]


def test_a_setting_may_hold_the_request(ralph: Ralph, bare: Path) -> None:
    (bare / ".ralph").mkdir()
    file = bare / ".ralph" / "config.toml"
    file.write_text('agent = "demo"\n[issue]\ntext = "Paint it"\n', encoding="utf-8")
    flags = ("run", "--dry-run", "--profile", "issue")
    assert "Request: Paint it (command line)" in ralph(bare, *flags).out
    file.write_text('[issue]\ntext = "Paint it"\nfile = "a.md"\n', encoding="utf-8")
    said = ralph(bare, *flags, "--agent", "demo")
    assert said.code == 78
    assert "issue.file ('a.md') and issue.text ('Paint it') are set" in said.err
