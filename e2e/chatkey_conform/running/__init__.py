"""Runs the suite: first the smoke cases, then the parallel cases, then the others one after another."""
