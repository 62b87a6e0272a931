"""A proxy in front of any service, which injects faults on request, and can serve our widget files."""
