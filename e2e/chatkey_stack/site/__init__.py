"""The integrator's site: small shops that embed the widget, each with its own sign-in and token endpoint."""
