"""Any program as agent: prompt on stdin, as an argument, or in a file (SPEC §10)."""

from __future__ import annotations

from ralph_ls.core.agent.decode.dialects import DIALECTS_WITH_USAGE_FILE, USAGE_FILE_PLACEHOLDER
from ralph_ls.engine.agent_description import Agent
from ralph_ls.protocol.config.agent import AgentConfig, Dialect
from ralph_ls.protocol.errors import ConfigError


def describe(name: str, config: AgentConfig) -> Agent:
    """An agent from its table; raises ``ConfigError`` where there is nothing to start."""
    if not config.argv:
        raise ConfigError(
            f"the agent {name!r} has no command; set argv under [agents.{name}] in "
            '.ralph/config.toml, or adapter = "claude" or another that is known, '
            "or give --agent-command"
        )
    if config.model is not None:
        raise ConfigError(
            f"agents.{name}.model is set, but a command of your own is given no model; "
            f"put it into argv under [agents.{name}], and remove the setting"
        )
    dialect = config.dialect or Dialect.TEXT
    if dialect not in DIALECTS_WITH_USAGE_FILE and any(
        USAGE_FILE_PLACEHOLDER in part for part in config.argv
    ):
        readable = " or ".join(sorted(f'"{one}"' for one in DIALECTS_WITH_USAGE_FILE))
        raise ConfigError(
            f"agents.{name}.argv has {USAGE_FILE_PLACEHOLDER}, but such a file is not read with "
            "the dialect "
            f"{dialect.value!r}; set dialect = {readable}, or take it out"
        )
    return Agent(
        name=name,
        argv=(*config.argv, *config.args),
        prompt=config.prompt,
        env=config.env,
        dialect=dialect,
        preface=config.system_prompt or "",
    )
