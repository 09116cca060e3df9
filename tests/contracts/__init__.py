"""One suite, run against a fake and against the real program."""
