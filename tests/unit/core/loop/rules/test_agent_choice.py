"""Agent choice: the order of the rules, and replacements of an agent.

See docs/rules.md#agents.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from ralph_ls.core.loop.rules.agent_choice import (
    Worker,
    choose_worker,
    models_for,
    other_agents,
    worker_words,
)
from ralph_ls.core.loop.rules.failure_policy import unavailable_agents
from ralph_ls.core.plan.queries import TaskTraits
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import ModelsConfig
from ralph_ls.protocol.run.iteration_events import AgentOut
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode
from ralph_ls.protocol.task_words import Priority

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

RULES: dict[str, Any] = {
    "tag": {
        "Simple": "small",
        "#docs": {"agent": "codex"},
        "[ui]": {"agent": "codex", "model": "c"},
    },
    "mode": {"plan": "large", "review": {"agent": "claude", "model": "critic"}},
    "priority": {"high": "large", "low": {"agent": "qwen", "model": "tiny"}, "standard": "medium"},
}


def config(agent: str = "claude", **models: Any) -> Config:
    return Config.model_validate({"agent": agent, "models": models})


def traits(*tags: str, priority: Priority | None = None) -> TaskTraits:
    return TaskTraits(task="a", priority=priority, tags=tags)


@pytest.mark.parametrize(
    ("mode", "about", "worker"),
    [
        pytest.param(Mode.BUILD, traits("simple"), Worker(model="small"), id="tag"),
        pytest.param(
            Mode.REVIEW, traits("simple", priority=Priority.P0), Worker(model="small"), id="tag 1st"
        ),
        pytest.param(Mode.BUILD, traits("x", "docs"), Worker(agent="codex"), id="agent alone"),
        pytest.param(
            Mode.BUILD, traits("ui", "simple"), Worker(agent="codex", model="c"), id="first tag"
        ),
        pytest.param(
            Mode.REVIEW, traits(priority=Priority.P2), Worker(model="critic"), id="mode, own agent"
        ),
        pytest.param(Mode.PLAN, None, Worker(model="large"), id="no task"),
        pytest.param(Mode.BUILD, None, Worker(), id="nothing fits"),
        pytest.param(Mode.BUILD, traits(priority=Priority.P0), Worker(model="large"), id="high"),
        pytest.param(Mode.REVIEW_FIX, traits(), Worker(model="medium"), id="no priority"),
        pytest.param(
            Mode.BUILD, traits(priority=Priority.P2), Worker(agent="qwen", model="tiny"), id="low"
        ),
    ],
)
def test_the_first_rule_that_fits_is_taken(
    mode: Mode, about: TaskTraits | None, worker: Worker
) -> None:
    assert choose_worker(config(**RULES), mode=mode, traits=about) == worker


def test_one_model_for_every_iteration_comes_before_all_rules() -> None:
    settings = config(every="mine", **RULES)
    assert choose_worker(settings, mode=Mode.BUILD, traits=traits("docs")) == Worker(model="mine")
    other = choose_worker(settings, mode=Mode.BUILD, traits=None, instead="codex")
    assert other == Worker(agent="codex")
    assert other_agents(settings) == ()
    assert models_for(settings, "claude") == ("mine",)
    assert models_for(settings, "codex") == ()


@pytest.mark.parametrize(
    ("tags", "instead", "out", "worker"),
    [
        pytest.param(("simple",), "codex", (), Worker(agent="codex"), id="no model of another"),
        pytest.param(("simple", "ui"), "codex", (), Worker(agent="codex", model="c"), id="its own"),
        pytest.param(("ui",), None, ("codex",), Worker(model="medium"), id="rule passed over"),
        pytest.param((), "claude", (), Worker(model="medium"), id="the run's own"),
        pytest.param((), None, ("claude",), Worker(), id="only its own rules are passed over"),
    ],
)
def test_a_replacement_gets_no_model_of_another_agent(
    tags: tuple[str, ...], instead: str | None, out: tuple[str, ...], worker: Worker
) -> None:
    given = choose_worker(
        config(**RULES), mode=Mode.BUILD, traits=traits(*tags), instead=instead, out=out
    )
    assert given == worker


def test_who_may_be_started_and_with_what_is_known_beforehand() -> None:
    settings = config(**RULES)
    assert other_agents(settings) == ("codex", "qwen")
    assert models_for(settings, "claude") == ("small", "large", "critic", "medium")
    assert models_for(settings, "codex") == ("c",)
    assert other_agents(config("codex", **RULES)) == ("claude", "qwen")


@pytest.mark.parametrize(
    ("agent", "model", "words"),
    [
        ("claude", None, ""),
        ("codex", None, "codex"),
        ("claude", "small", "claude, model small"),
    ],
)
def test_who_works_is_reported_where_it_is_not_plain(
    agent: str, model: str | None, words: str
) -> None:
    assert worker_words(config(), agent, model) == words


@pytest.mark.parametrize(
    "models",
    [
        {"tag": {"a": {}}},
        {"tag": {"a": "--flag"}},
        {"every": ""},
        {"mode": {"plan": "two words"}},
        {"mode": {"repair": "a"}},
        {"priority": {"P0": "a"}},
        {"priority": {"high": {"model": "-m"}}},
        {"fast": "a"},
    ],
)
def test_a_rule_that_chooses_nothing_or_reads_as_a_flag_is_none(models: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ModelsConfig.model_validate(models)


def test_who_takes_over_may_be_started_too_and_who_is_out_is_known() -> None:
    settings = Config.model_validate({"agent": "claude", "fallback": ["qwen", "claude"]})
    assert other_agents(settings) == ("qwen",)
    later = NOW + timedelta(hours=1)
    run = RunState(
        config=settings,
        agents_out=(
            AgentOut(agent="claude", until=later),
            AgentOut(agent="codex", until=NOW),
            AgentOut(agent="qwen"),
        ),
    )
    assert unavailable_agents(run, NOW) == {"claude", "qwen"}
