"""GSD: the phases and plans of its roadmap are read and edited."""
