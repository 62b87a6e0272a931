"""The browser scenarios: tests that can run against any stack."""
