# The part that we use. The newest Pythons have no wheel, and the types must be known there, too.
