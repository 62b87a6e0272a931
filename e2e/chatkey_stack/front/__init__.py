"""A proxy in front of any service. It injects faults on request, and can serve our widget files as well."""
