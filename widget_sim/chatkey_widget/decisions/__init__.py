"""The decisions of the state machine.

Each module handles one group of events, and calls the parts that carry the decisions out.
"""
