"""Evidence for closing: what a finished task has to show, and how a plan says what was seen."""
