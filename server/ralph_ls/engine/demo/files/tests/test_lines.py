from __future__ import annotations

import unittest
from decimal import Decimal

from invoice.lines import Line, subtotal


class SubtotalTest(unittest.TestCase):
    def test_no_lines_cost_nothing(self) -> None:
        self.assertEqual(subtotal([]), Decimal("0.00"))

    def test_one_piece_costs_its_price(self) -> None:
        self.assertEqual(subtotal([Line("Pen", Decimal("1.20"))]), Decimal("1.20"))

    def test_three_pieces_cost_three_times_the_price(self) -> None:
        self.assertEqual(subtotal([Line("Pen", Decimal("1.20"), 3)]), Decimal("3.60"))

    def test_lines_add_up_with_their_quantities(self) -> None:
        lines = [Line("Pen", Decimal("1.20"), 3), Line("Pad", Decimal("4.00"), 2)]
        self.assertEqual(subtotal(lines), Decimal("11.60"))


if __name__ == "__main__":
    unittest.main()
