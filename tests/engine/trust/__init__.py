"""Code and commands that need an approval: what a repository or an agent may not start."""
