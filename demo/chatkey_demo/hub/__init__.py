"""The demo's own page: four shops, one per identity mode, what their widgets do, and the agent panel."""
