"""Code shared by all imitated providers: requests, clients, people, codes, tokens, keys."""
