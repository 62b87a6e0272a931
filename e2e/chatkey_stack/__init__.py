"""Shared by demo and test harness: servers as `with` blocks, certificates, labs, the integrator's site, browsers."""
