"""What the checks have in common: the words of a finding, times, and people who are somebody else."""
