"""What the customers' and the agents' sockets share: a peer, its outgoing frames, and how frames are read."""
