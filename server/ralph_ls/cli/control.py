"""Which verbs change a run, its work tree or what may be executed, and who may use them.

Each verb says so in the table of verbs. One that changes something is refused to a process that an
iteration of the work tree has started, before it looks at anything else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ralph_ls.cli.context import here
from ralph_ls.cli.output import emit_json
from ralph_ls.protocol.errors import FromInside, WorkspaceMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The verb changes nothing that a run rests on; anybody may use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The verb is for the user alone."""

    unless: tuple[str, ...] = ()
    """Options with which it only shows something."""
    by_command: bool = False
    """Whether commands of ``on_*``, which speak for the user, may use it."""
    trust: bool = False
    """Whether it approves what may be executed."""


Control = Reads | Changes

READS = Reads()


def guarded(verb: str, control: Control, function: Callable[..., None]) -> Callable[..., None]:
    """The verb's function, refused where an iteration of the work tree has started this process."""
    if isinstance(control, Reads):
        return function

    @functools.wraps(function)
    def guarded_verb(**options: Any) -> None:
        if not any(options.get(name) for name in control.unless):
            _require_outside(verb, control, as_json=bool(options.get("as_json")))
        function(**options)

    return guarded_verb


def _require_outside(verb: str, control: Changes, *, as_json: bool) -> None:
    from ralph_ls.store.run.ancestry import require_outside, require_own_trust

    try:
        place = here()
    except WorkspaceMissing:
        # The verb says what to do.
        return
    what = f"ralph {verb}"
    try:
        require_outside(place.worktree, place.state, what, by_command=control.by_command)
        if control.trust:
            require_own_trust(place.state, what)
    except FromInside as error:
        if as_json:
            emit_json({"accepted": False, "code": "from-inside", "text": error.message})
        raise
