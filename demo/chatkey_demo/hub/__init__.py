"""The demo's own page: four shops, one for each identity mode, the activity of their widgets, and the agent panel."""
