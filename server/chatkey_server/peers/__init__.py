"""What the sockets of customers and agents share: the peer, its outgoing frames, and the reading of frames."""
