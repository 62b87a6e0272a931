"""The socket profile `wf.v1` on the server (D-10)."""
