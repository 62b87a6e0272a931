"""Recognises common mistakes in answers, thumbprints, signatures and tokens."""
