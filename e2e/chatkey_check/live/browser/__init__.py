"""A real widget on the integrator's page, in a browser."""
