"""What an agent is told, and that none of it is ever taken for what an agent says."""
