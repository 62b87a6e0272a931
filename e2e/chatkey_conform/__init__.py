"""`chatkey conform`: tests a third-party service or widget against the sentences of the contract."""
