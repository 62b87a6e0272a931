"""Runs the suite: first the smoke cases, then the parallel cases, then the other cases one after another."""
