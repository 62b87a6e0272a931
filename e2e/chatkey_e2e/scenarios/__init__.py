"""The scenarios, as tests that run against any stack."""
