"""Many configurations, one table: specifications, aged states that runs share, clusters."""
