"""The machine's decisions. Each module handles one group of events, and calls the parts that carry them out."""
