"""Keys of ``ralph run`` and ``ralph watch``: what each does, and the line that is being typed.

Orders go to the run through its inbox, as those of any other viewer do. The plan, the log and the
changes are printed above the panel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.show.keyboard import CANCEL, CHARACTER, CLEAR, ENTER, ERASE, PASTE, Key
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.run import steering
from ralph_ls.store.run.runs import FoundRun
from ralph_ls.store.run.steering import CommandContext, CommandOutcome

SHOWN_LINES = 20
"""Lines of the agent's output, or tasks, that a key prints, the newest or first."""

SHOWN_DIFF = 100
"""Lines of the last iteration's changes that a key prints."""

FINISHED = "nothing is running any more"

HINT = "p pause · s stop · a answer · n note · l log · f full screen · ? all keys"

HELP = (
    ("p", "pause after this iteration, or continue"),
    ("c", "end the wait, and continue now"),
    ("s", "stop after this iteration"),
    ("S", "stop now, in the middle of its work"),
    ("a", "answer the open question"),
    ("n", "send a note to the next iteration"),
    ("r", "reset the circuit breaker"),
    ("k", "skip the current task for the rest of this run"),
    ("t", "show the tasks of the plan"),
    ("l", "show the agent's last lines"),
    ("d", "show what the last iteration changed"),
    ("f", "change between the full screen and this form"),
    ("?", "show these keys"),
)


LEAVE = "leave; the run continues"
LEAVE_OWN = "ask how to end the run, which is in this terminal"


ORDERS: Mapping[str, Callable[[CommandContext, str], CommandOutcome]] = {
    "pause": lambda context, _: steering.pause(context),
    "resume": lambda context, _: steering.resume(context),
    "stop": lambda context, _: steering.stop(context),
    "stop-now": lambda context, _: steering.stop(context, now=True),
    "reset": lambda context, _: steering.reset(context),
    "answer": steering.answer,
    "note": steering.note,
    "skip": steering.skip_task,
}
"""Orders that keys give, by name."""


class Screen(Protocol):
    """Where keys write."""

    def print_above(self, text: str) -> None:
        """Print text above the panel."""

    def refresh(self) -> None:
        """Draw the panel again, now."""

    def hidden(self) -> AbstractContextManager[None]:
        """Draw nothing within, as another process has the terminal."""
        ...


@dataclass(slots=True)
class LinePrompt:
    """A question of ours, and the line that is typed to answer it."""

    label: str
    then: Callable[[str], None]
    typed: str = ""

    @property
    def text(self) -> str:
        return f"{self.label} {self.typed}▏ (Enter sends, Esc cancels)"


@dataclass(slots=True)
class KeyActions:
    """What keys do to the run of a work tree."""

    place: CommandWorktree
    by: str
    """The verb, such as ``ralph watch``."""
    leave: Callable[[], None] | None
    """Ends the showing alone; None where this process is the run itself."""
    screen: Screen | None = None
    """Set once it is drawn; until then no key does anything."""
    prompt: LinePrompt | None = field(default=None)
    full_screen: Callable[[], None] | None = None
    """Shows the run on the full screen; None where there is none."""
    end_full_screen: Callable[[], None] | None = None
    """Ends one that is beside the run of this process, and waits for the terminal."""
    give_elsewhere: Callable[[str, str], list[str]] | None = None
    """Gives orders in the process of the run, in place of ``give``."""

    @property
    def footer(self) -> str:
        """The line below the panel."""
        return HINT if self.prompt is None else self.prompt.text

    def handle(self, key: Key) -> None:
        """Do what a key means; an error is a line on the screen."""
        if self.screen is None:
            return
        self.attempt(lambda: self._take(key))
        if self.screen is not None:
            self.screen.refresh()

    def attempt(self, action: Callable[[], None]) -> None:
        """Do what a key means; an error is a line on the screen."""
        try:
            action()
        except RalphError as error:
            self._say(error.message)
        except OSError as error:
            self._say(f"{error.strerror or error}: {error.filename or 'no file is named'}")

    def _take(self, key: Key) -> None:
        if self.prompt is not None:
            self._type(self.prompt, key)
        elif key.kind == CHARACTER:
            self._press(key.text)

    def _type(self, prompt: LinePrompt, key: Key) -> None:
        if key.kind in {CHARACTER, PASTE}:
            prompt.typed += key.text
        elif key.kind == ERASE:
            prompt.typed = prompt.typed[:-1]
        elif key.kind == CLEAR:
            prompt.typed = ""
        elif key.kind == CANCEL:
            self.prompt = None
        elif key.kind == ENTER:
            self.prompt = None
            if prompt.typed.strip():
                prompt.then(prompt.typed.strip())

    def _press(self, character: str) -> None:
        action = _ACTIONS.get(character)
        if action is not None:
            action(self)

    def say_keys(self) -> None:
        """Print what every key does."""
        q = LEAVE if self.leave is not None else LEAVE_OWN
        for character, does in (*HELP, ("q", q)):
            self._say(f"  {character}  {does}")

    def pause_or_continue(self) -> None:
        found = self._require_live()
        is_held = found.state.phase in {Phase.PAUSED, Phase.PARKED}
        self._order("resume" if is_held or found.state.pause_requested else "pause")

    def end_wait(self) -> None:
        found = self._require_live()
        if found.state.phase is not Phase.WAITING:
            raise RalphError("the run is not waiting")
        self._order("resume")

    def stop(self) -> None:
        self._order("stop")

    def stop_now(self) -> None:
        self._order("stop-now")

    def reset_breaker(self) -> None:
        self._order("reset")

    def answer(self) -> None:
        from ralph_ls.cli.overview import open_question
        from ralph_ls.core.views.panel.question import answer_of, listed_choices, question_lines

        question = open_question(self.place.worktree.root, self._require_live())
        if question is None:
            self._say("no question is open")
            return
        options = listed_choices(question)
        for line in question_lines(question):
            self._say(line)
        self.prompt = LinePrompt(
            "Answer:", lambda typed: self.send_answer(answer_of(options, typed))
        )

    def send_answer(self, words: str) -> None:
        """Answer the open question."""
        self._order("answer", words)

    def show_full_screen(self) -> None:
        if self.full_screen is None:
            self._say("there is no full screen here; see ralph watch --help")
            return
        self.full_screen()

    def note(self) -> None:
        self._require_live()
        self.prompt = LinePrompt("Note:", lambda typed: self._order("note", typed))

    def skip(self) -> None:
        current = self._require_live().state.current
        task = None if current is None else current.started.task
        if task is None:
            self._say("no task is being worked on")
            return

        def send(typed: str) -> None:
            if typed.lower() in {"y", "yes"}:
                self._order("skip", task.id)

        self.prompt = LinePrompt(f"Skip {task.title!r} for the rest of this run? y/n", send)

    def show_tasks(self) -> None:
        from ralph_ls.core.plan.formats.dispatch import parse_plan
        from ralph_ls.protocol.task_words import TaskState
        from ralph_ls.store.project.plan_file import text_of_plan

        location = self.place.require_plan()
        text = text_of_plan(self.place.worktree.root, location)
        plan = parse_plan(text, location.kind, tag=location.tag).plan
        left = [task for task in plan.tasks if task.state is not TaskState.DONE]
        self._say(f"{len(plan.tasks) - len(left)} of {len(plan.tasks)} tasks are done")
        for task in left[:SHOWN_LINES]:
            state = "" if task.state is TaskState.TODO else f" ({task.state.value})"
            self._say(f"  {task.title}  [{task.id}]{state}")
        if len(left) > SHOWN_LINES:
            self._say(f"  and {len(left) - SHOWN_LINES} more: ralph plan")

    def show_log(self) -> None:
        from ralph_ls.store.run.watch import OutputChunk, RunFollower

        found = self._require_run()
        start = found.state.current.started.seq if found.state.current is not None else 0
        follower = RunFollower(found.files, is_live=lambda: False, after_seq=max(0, start - 1))
        text = "".join(
            item.data.decode("utf-8", "replace")
            for batch in follower
            for item in batch
            if isinstance(item, OutputChunk)
        )
        lines = deque(text.splitlines(), maxlen=SHOWN_LINES)
        for line in lines:
            self._say(f"  {line}")
        self._say("all of it: ralph logs --tools" if lines else "the agent has written nothing yet")

    def show_changes(self) -> None:
        from ralph_ls.store.external.git_objects import diff_between
        from ralph_ls.store.run.iterations import changes_of

        found = self._require_run()
        last = found.state.last
        if last is None:
            self._say("no iteration has ended yet")
            return
        worktree, run = self.place.worktree, found.state.run
        changes = changes_of(worktree, self.place.state, run=run, start=last.start)
        lines = diff_between(worktree.root, changes.base, changes.head).splitlines()
        self._say(f"iteration {last.iteration} changed:" if lines else "it changed nothing")
        for line in lines[:SHOWN_DIFF]:
            self._say(f"  {line}")
        self._say(f"all of it: ralph show {last.iteration}, or git diff {changes.base[:7]}")

    def quit(self) -> None:
        if self.leave is not None:
            self.leave()
            return
        self._say(
            "this terminal runs the loop; Esc lets it continue; next time ralph run --detach "
            "leaves it in the background"
        )

        def send(typed: str) -> None:
            if typed in _ENDS:
                self._order(_ENDS[typed])

        self.prompt = LinePrompt("End the run: s after this iteration, S now?", send)

    def give(self, order: str, text: str) -> list[str]:
        """Give an order by its name, with its text; returns what there is to say about it."""
        from ralph_ls.store.run.ancestry import require_outside

        place = self.place
        require_outside(place.worktree, place.state, self.by)
        context = CommandContext(
            worktree=place.worktree, state=place.state, by=self.by, now=SystemClock().now()
        )
        done = ORDERS[order](context, text)
        if not done.reply.accepted:
            return [f"rejected: {done.reply.text}"]
        # A live run reports the order itself.
        return [done.reply.text] if done.waits else []

    def _order(self, order: str, text: str = "") -> None:
        give = self.give if self.give_elsewhere is None else self.give_elsewhere
        for line in give(order, text):
            self._say(line)

    def _require_run(self) -> FoundRun:
        return self.place.require_run()

    def _require_live(self) -> FoundRun:
        found = self._require_run()
        if not found.live:
            raise RalphError(FINISHED)
        return found

    def _say(self, text: str) -> None:
        if self.screen is not None:
            self.screen.print_above(text)


_ENDS: Mapping[str, str] = {"s": "stop", "S": "stop-now"}

_ACTIONS: Mapping[str, Callable[[KeyActions], None]] = {
    "p": KeyActions.pause_or_continue,
    "c": KeyActions.end_wait,
    "s": KeyActions.stop,
    "S": KeyActions.stop_now,
    "a": KeyActions.answer,
    "n": KeyActions.note,
    "r": KeyActions.reset_breaker,
    "k": KeyActions.skip,
    "t": KeyActions.show_tasks,
    "l": KeyActions.show_log,
    "d": KeyActions.show_changes,
    "f": KeyActions.show_full_screen,
    "?": KeyActions.say_keys,
    "q": KeyActions.quit,
}
