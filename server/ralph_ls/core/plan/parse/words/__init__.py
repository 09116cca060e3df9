"""The words and signs of plans in sixteen languages: names of sections, and states."""
