from __future__ import annotations

import unittest
from decimal import Decimal

from invoice.lines import Line
from invoice.total import tax, total

LAMP = [Line("Lamp", Decimal("50.00"))]
NONE = Decimal("0.00")
TEN = Decimal("10.00")
RATE = Decimal("0.20")


class TotalTest(unittest.TestCase):
    def test_tax_without_a_discount(self) -> None:
        self.assertEqual(tax(LAMP, NONE, RATE), Decimal("10.00"))

    def test_tax_is_charged_after_the_discount(self) -> None:
        self.assertEqual(tax(LAMP, TEN, RATE), Decimal("8.00"))

    def test_the_total_holds_discount_and_tax(self) -> None:
        self.assertEqual(total(LAMP, TEN, RATE), Decimal("48.00"))


if __name__ == "__main__":
    unittest.main()
