"""What all imitated providers have in common: requests, clients, people, codes, tokens, keys."""
