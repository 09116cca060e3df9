"""The only place where things happen: processes, git, files, time. Start reading in ``runner``."""
