"""The integrator's site: small shops that embed the widget, each with a sign-in and a token endpoint."""
