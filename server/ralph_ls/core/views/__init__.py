"""What people are shown, in neutral words: no terminal, no editor, no framework."""
