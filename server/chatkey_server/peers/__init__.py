"""What both sockets are made of, the customers' and the agents': one peer, what it may be sent, how frames are read."""
