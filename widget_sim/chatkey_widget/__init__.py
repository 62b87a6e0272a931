"""The widget: a pure state machine, with the browser at its edge (`chatkey_widget.browser`)."""
