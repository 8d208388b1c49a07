"""HTTP extenders: services that refuse, score and bind beside the scheduler's own rules."""
