"""Results as notebooks show and take them: small static HTML, data frames, Arrow tables."""
