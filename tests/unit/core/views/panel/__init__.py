"""Views of the panel: status, facts, card, rows."""
