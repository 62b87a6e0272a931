"""`chatkey conform`: a service or a widget that is not ours, judged by the sentences of the contract."""
