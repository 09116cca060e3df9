"""A model or an agent by tag, mode and priority, in whole runs (docs/rules.md#agents)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.engine.agent.run_agents import describe_agents, secrets_around
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError
from tests.engine.project_builder import write_agent
from tests.engine.ralph_runner import Project, told

RULES = """\
[models.tag]
simple = "small"
docs = {{ agent = "writer" }}
[models.priority]
high = "large"
[agents.writer]
argv = ["{writer}"]
"""

TASKS = ("[P0] Build it", "Rename it [simple]", "Tell of it #docs", "Do the rest")

WORKS = r"""
case $RALPH_START in 1) mark x '\[P0\]';; 2) mark x Rename;; 4) mark x Do;; esac
work; commit; says s1 0.1 done
"""
WRITES = r"""
cat >/dev/null; sed -i 's/\[ \] Tell/[x] Tell/' @fix_plan.md; git commit -qam Docs; echo Told.
"""


def config(agent: str = "claude", **settings: Any) -> Config:
    return Config.model_validate({"agent": agent, **settings})


@pytest.mark.slow
def test_each_iteration_gets_the_model_or_agent_of_its_task(project: Project) -> None:
    writer = write_agent(project.kept / "writer", WRITES)
    rules = RULES.format(writer=writer)
    project.plan(*TASKS, files={".ralph/config.toml": rules})
    write_agent(project.kept / "bin", "exit 1", name="claude")
    path = {"PATH": os.pathsep.join([str(project.kept / "bin"), os.environ["PATH"]])}
    shown = project.ralph(project.repository, "run", "--dry-run", "--json", env=path)
    first = json.loads(shown.stdout)
    assert (first["agent"], first["model"], first["argv"][-2:]) == (
        "claude",
        "large",
        ["--model", "large"],
    )
    assert first["notAllowed"] == ["agents.writer"]
    refused = project.run_claude(WORKS, "4")
    assert refused.exit_code != 0
    assert "agents.writer" in refused.stderr
    assert project.tell("allow", "--yes").exit_code == 0
    done = project.run_claude(WORKS, "4")
    began = [(event.agent, event.model) for event in told(done, "agentStarted")]
    assert began == [("claude", "large"), ("claude", "small"), ("writer", None), ("claude", None)]
    argv = [(project.kept / f"argv-{number}").read_text() for number in (1, 2, 4)]
    assert ["--model large" in argv[0], "--model small" in argv[1], "--model" in argv[2]] == [
        True,
        True,
        False,
    ]
    assert "▸ Agent: claude, model small" in done.stdout
    assert "▸ Agent: writer" in done.stdout
    project.plan(*TASKS, files={".ralph/config.toml": rules})
    # What the user sets for the run comes before what the repository says for its tasks.
    again = project.run_claude(WORKS, "1", "--model", "mine", "--deny-tool", "WebFetch")
    assert [event.model for event in told(again, "agentStarted")] == ["mine"]
    assert "--disallowedTools WebFetch --model mine" in (project.kept / "argv-1").read_text()
    resumed = project.run_claude(WORKS, "2", "--resume")
    assert [event.model for event in told(resumed, "agentStarted")] == ["mine", "mine"]
    assert "--disallowedTools WebFetch --model mine" in (project.kept / "argv-2").read_text()


def test_every_agent_of_the_rules_is_ready_when_a_run_begins(tmp_path: Path) -> None:
    rules = {"tag": {"a": {"agent": "mine"}}, "mode": {"plan": {"agent": "claude", "model": "m"}}}
    own = {"mine": {"argv": ["mine"], "env": {"API_TOKEN": "of-mine-1", "PLAIN": "of-mine-2"}}}
    agents = describe_agents(config(models=rules, agents=own, session={"resume": True}))
    assert list(agents) == ["claude", "mine"]
    around = {"API_TOKEN": "of-caller", "OTHER_KEY": "of-caller-2"}
    assert secrets_around(around, agents, tmp_path) == {
        "API_TOKEN": "of-caller",
        "OTHER_KEY": "of-caller-2",
        "API_TOKEN of mine": "of-mine-1",
    }


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            {"models": {"tag": {"a": {"agent": "nobody"}}}},
            "models: there is no agent 'nobody'",
            id="no such agent",
        ),
        pytest.param(
            {"agent": "mine", "agents": {"mine": {"argv": ["mine"]}}, "models": {"every": "m"}},
            "the agent 'mine' should use m, but takes no model",
            id="takes no model",
        ),
    ],
)
def test_a_rule_that_cannot_be_followed_is_reported_at_the_start(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        describe_agents(config(**settings))
