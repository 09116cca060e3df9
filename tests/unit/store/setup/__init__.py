"""Set-up of a project: templates and existing files."""
