"""What an agent is told: templates, filled from the plan, answers, recommendations and notes."""
