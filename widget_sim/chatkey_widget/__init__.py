"""The widget: a pure state machine. Only `chatkey_widget.browser` uses the browser."""
