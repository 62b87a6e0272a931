"""The demo's own page: four shops, one in each identity mode, what their widgets do, and the agent who answers."""
