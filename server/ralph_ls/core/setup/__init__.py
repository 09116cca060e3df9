"""Setting a loop up: the rules of a draft, templates, proposals, and what is written at last."""
