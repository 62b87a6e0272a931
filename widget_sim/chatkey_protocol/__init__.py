"""The words that the server, the widget and the harness share: names, storage keys, frame kinds, codes. No behaviour."""
