"""The words that server, widget and harness share: names, storage keys, frame kinds, codes. No behaviour."""
