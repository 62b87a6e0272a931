"""Load by Locust: a user who is a widget, and one who is an agent (`pip install 'chatkey[load]'`)."""
