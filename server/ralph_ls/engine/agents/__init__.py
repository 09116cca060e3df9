"""One small description an agent: what is started, and how the prompt gets there."""
