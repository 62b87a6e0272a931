"""Limits on rates, amounts and concurrency, so that one peer cannot use up the resources of the others."""
