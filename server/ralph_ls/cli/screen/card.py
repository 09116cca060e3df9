"""Card: what waits for the user, with a button for each answer or order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Static

from ralph_ls.cli.screen.style import TONE_MARKS, TONE_STYLES
from ralph_ls.core.views.screen.card import CardView


@dataclass
class CardPressed(Message):
    """A button of the card was pressed."""

    key: str
    text: str


class CardButton(Button):
    """One answer or order."""

    def __init__(self, label: str, key: str, text: str) -> None:
        super().__init__(Text(f"[{label}]"), compact=True)
        self.key, self.text = key, text


class RunCard(Vertical):
    """Shows a card; hidden without one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,right", "app.focus_next", show=False),
        Binding("up,left", "app.focus_previous", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: CardView | None = None
        self._text = Static("", markup=False)
        self._buttons = Vertical(classes="card-buttons")

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="card-text", can_focus=False):
            yield self._text
        yield self._buttons

    async def show(self, card: CardView | None) -> None:
        """Show another card; one that is the same keeps its focus."""
        if card == self._shown:
            return
        self._shown = card
        self.set_class(card is not None, "-shown")
        await self._buttons.remove_children()
        if card is None:
            return
        mark = TONE_MARKS[card.tone]
        self.border_title = Text.assemble((f"{mark} {card.title}", TONE_STYLES[card.tone]))
        for tone in ("bad", "good", "plain"):
            self.set_class(card.tone.value == tone, f"-{tone}")
        self._text.update(Text(card.text))
        await self._buttons.mount_all(
            CardButton(one.label, one.key, one.text) for one in card.buttons
        )

    def focus_first(self) -> bool:
        """Go to the first button; whether there is one."""
        for button in self.query(CardButton):
            button.focus()
            return True
        return False

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if isinstance(event.button, CardButton):
            self.post_message(CardPressed(event.button.key, event.button.text))
