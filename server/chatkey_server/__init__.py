"""The reference server: public endpoints, the WebSocket, the chat, the agent panel and the admin panel."""
