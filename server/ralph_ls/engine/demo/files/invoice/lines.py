"""The lines of an invoice, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Line:
    """One thing that was sold: what it is, the price of one piece, how many pieces."""

    text: str
    price: Decimal
    quantity: int = 1


def cost(line: Line) -> Decimal:
    """What one line costs."""
    return line.price


def subtotal(lines: Sequence[Line]) -> Decimal:
    """What all lines cost together, before discount and tax."""
    return sum((cost(line) for line in lines), Decimal("0.00"))
