"""Load tests with Locust: one user class acts as a widget, another as an agent (`pip install 'chatkey[load]'`)."""
