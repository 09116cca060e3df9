from __future__ import annotations

import unittest
from decimal import Decimal

from invoice.letter import letter
from invoice.lines import Line

LINES = [Line("Lamp", Decimal("50.00")), Line("Bulb", Decimal("2.50"))]
NONE = Decimal("0.00")
RATE = Decimal("0.20")


class LetterTest(unittest.TestCase):
    def test_each_line_has_a_row_in_its_order(self) -> None:
        rows = letter(LINES, NONE, RATE).splitlines()
        self.assertEqual(rows[0].split(), ["Lamp", "50.00"])
        self.assertEqual(rows[1].split(), ["Bulb", "2.50"])


if __name__ == "__main__":
    unittest.main()
