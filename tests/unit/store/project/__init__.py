"""Files of a project: configuration, trust, plan, scripts."""
