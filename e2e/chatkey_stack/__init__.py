"""What demo and harness stand on: servers as `with` blocks, certificates, labs, the integrator's site, and browsers."""
