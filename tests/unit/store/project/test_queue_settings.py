"""A queue on GitHub as the plan: by a flag, by the settings, and who may permit writing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.plan.formats.github.format import MIRROR
from ralph_ls.protocol.config.config import GateRule
from ralph_ls.protocol.errors import ConfigError, UsageError
from ralph_ls.store.project.config_file import LoadedSettings, load_settings
from ralph_ls.store.project.plan_choice import queue_settings


def load(
    root: Path, given: Mapping[str, Any] | None = None, *, own: str = "", shared: str = ""
) -> LoadedSettings:
    root.mkdir(exist_ok=True)
    home = root.parent / "home"
    for path, text in ((home / "ralph/config.toml", own), (root / ".ralph/config.toml", shared)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_settings(root, {"HOME": str(home), "XDG_CONFIG_HOME": str(home)}, given or {})


QUEUE = '[plan.github]\nlabel = "agent"\n'


@pytest.mark.parametrize("named", ["github", "github:", "github:label=bug,milestone=Version 2"])
def test_a_flag_names_a_queue(tmp_path: Path, named: str) -> None:
    config = load(tmp_path / "work", {"paths.plan": named}, shared=QUEUE).config
    assert config.paths.plan == MIRROR
    is_other = "=" in named
    assert config.plan.github.label == ("bug" if is_other else "agent")
    assert config.plan.github.milestone == ("Version 2" if is_other else None)
    assert (config.gate.rule, config.attempts.limit) == (GateRule.QUEUE, 3)


def test_what_a_flag_does_not_name_is_taken_back(tmp_path: Path) -> None:
    given = {"paths.plan": "github:milestone=Version 2"}
    queue = load(tmp_path / "work", given, shared=QUEUE).config.plan.github
    assert (queue.label, queue.milestone, queue.is_chosen) == (None, "Version 2", True)


@pytest.mark.parametrize("named", ["github:x=1", "github:label", "github:label=", "github:,"])
def test_a_queue_in_another_form_is_refused(named: str) -> None:
    with pytest.raises(UsageError, match="names no queue"):
        queue_settings(named)


def test_settings_that_name_a_queue_make_it_the_plan(tmp_path: Path) -> None:
    settings = load(tmp_path / "work", shared=QUEUE)
    assert settings.config.paths.plan == MIRROR
    assert settings.config.max_iterations == 20
    named = load(tmp_path / "work", shared='[paths]\nplan = "github"\n')
    assert named.config.paths.plan == MIRROR


def test_a_plan_of_the_profile_comes_before_the_queue(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "@fix_plan.md").write_text("- [ ] a\n", encoding="utf-8")
    config = load(root, shared=QUEUE).config
    assert (config.paths.plan, config.gate.rule) == (None, GateRule.DUAL)


def test_a_mirror_alone_is_no_plan_that_is_found(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / ".ralph").mkdir(parents=True)
    (root / MIRROR).write_text("- [ ] **GH-1** a\n", encoding="utf-8")
    assert load(root).config.paths.plan is None


def test_what_the_user_sets_comes_before_what_a_queue_sets(tmp_path: Path) -> None:
    config = load(tmp_path / "work", shared=f"{QUEUE}[attempts]\nlimit = 5\n").config
    assert config.attempts.limit == 5


@pytest.mark.parametrize("line", ["write = true", 'repository = "eve/evil"'])
def test_only_the_users_own_settings_permit_writing(tmp_path: Path, line: str) -> None:
    key = line.partition(" ")[0]
    with pytest.raises(ConfigError, match=f"plan.github.{key} counts in your own settings only"):
        load(tmp_path / "work", shared=f"{QUEUE}{line}\n")
    queue = load(tmp_path / "work", own=f"[plan.github]\n{line}\n", shared=QUEUE).config.plan.github
    assert (queue.write, queue.repository) == (
        (True, None) if key == "write" else (False, "eve/evil")
    )


@pytest.mark.parametrize("line", ['repository = "evil"', 'label = "a,b"', 'assignee = "-x"'])
def test_names_that_are_none_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError):
        load(tmp_path / "work", own=f"[plan.github]\n{line}\n")
