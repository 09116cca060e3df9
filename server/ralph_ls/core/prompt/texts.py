"""The wording of the built-in prompts: which texts there are, and which one an iteration gets.

A template is a prompt of one mode in one profile. It is put together from pieces, so that a rule
is worded once; where a rule has another wording in one profile, a piece ``name.profile`` stands
in the place of ``name``. The texts lie in ``wording/`` beside this module, for people to read and
change. This module must never read them: who has a disk gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ralph_ls.core.prompt.context import PromptContext
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.run.values import Mode

IMPLEMENT = "implement"
"""How ``build`` is written in ``stories`` (SPEC §1)."""

MODES: Mapping[ProfileName, tuple[Mode, ...]] = MappingProxyType(
    {
        ProfileName.SPEC: (Mode.BUILD, Mode.PLAN),
        ProfileName.FIXPLAN: (Mode.BUILD, Mode.PLAN),
        ProfileName.STORIES: (Mode.BUILD, Mode.PLAN, Mode.REVIEW, Mode.REVIEW_FIX),
        ProfileName.BEADS: (Mode.BUILD, Mode.PLAN),
        ProfileName.ISSUE: (Mode.BUILD,),
    }
)
"""What an iteration of each profile can be for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """All built-in wording, by name without ending."""

    templates: Mapping[str, str]
    """Such as ``fixplan-build``."""
    pieces: Mapping[str, str]
    """Such as ``report``, and ``report.issue`` for what ``issue`` words otherwise."""

    def piece(self, name: str, profile: ProfileName) -> str | None:
        """The piece of that name as the profile words it; None: there is none."""
        return self.pieces.get(f"{name}.{profile.value}", self.pieces.get(name))


def mode_word(profile: ProfileName, mode: Mode) -> str:
    """The mode as it is written in that profile."""
    if profile is ProfileName.STORIES and mode is Mode.BUILD:
        return IMPLEMENT
    return mode.value


def template_name(context: PromptContext) -> str:
    """The name of the built-in template for this iteration.

    Raises ValueError where the profile has no iterations of that mode.
    """
    profile, mode = context.profile, context.mode
    if mode not in MODES[profile]:
        known = ", ".join(mode_word(profile, one) for one in MODES[profile])
        raise ValueError(
            f"the profile {profile.value} has no {mode.value} iterations; it has: {known}"
        )
    name = f"{profile.value}-{mode_word(profile, mode)}"
    if context.skip_review and name == f"{ProfileName.STORIES.value}-{IMPLEMENT}":
        return f"{name}-skip-review"
    return name
